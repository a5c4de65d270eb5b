"""What the store holds, in the form the commands show and export.

Other programs get it as CSV, JSON, parquet, or an unsigned in-toto statement.
"""

import csv
import importlib.util
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from math import inf, isfinite, log
from pathlib import Path

from ...auditors.errors import InvalidArgument
from ...auditors.privacy.accumulate import ALPHA
from ...mechanisms.model import curve_from_json
from ..formats.table import Format
from ..record.evidence import environment
from .recorder import LINES, is_on_network, merge
from .store import COLUMNS, NAME, HistoryError, Row, Store, open_memory, open_store
from .verify import gone_back, verify, write_head

TABLES = (
    Format("csv", "all rows as CSV", ".csv", "joint_log_wealth"),
    Format("parquet", "all rows as parquet", ".parquet", "joint_log_wealth"),
)
"""Files that no other command writes; a column of them is their mark."""
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:dpwitness:history:1"


@dataclass(frozen=True, slots=True)
class AuditedClaim:
    """One mechanism and claim, with its audits over all versions of the source, oldest first."""

    mechanism: str
    claim: Row
    audits: tuple[Row, ...]


@contextmanager
def opened(directory: Path) -> Iterator[tuple[Store, tuple[str, ...], str]]:
    """The store with all lines merged and all evidence added up, and what there is to tell.

    The last is what is not as it was written, empty for nothing: to such a store nothing is added.

    On a network file system the lines are read into a store that is gone afterwards. Raises
    InvalidArgument where nothing was ever recorded, HistoryError where it may not be read.
    """
    _require_readable(directory)
    if not any(directory.glob(f"{NAME}*")) and not any((directory / LINES).glob("*.jsonl")):
        raise InvalidArgument(
            f"there is no history in {directory}; pytest and `dpwitness gate` write one when they "
            "audit, and --directory names another place"
        )
    passing = is_on_network(directory)
    store = open_memory() if passing else open_store(directory, whole=True)
    try:
        broken, told = (
            verify(store) or ("" if passing else gone_back(directory, store)),
            store.notices,
        )
        if not broken:
            told = (*told, *merge(store, directory))
        if not (broken or passing):
            with suppress(OSError):  # what may not be written to may be read
                write_head(directory, store)
        yield store, told, broken
    finally:
        store.close()


def _require_readable(directory: Path) -> None:
    # What may not be read looks as if it were not there.
    try:
        for folder in (directory, directory / LINES):
            with suppress(FileNotFoundError):
                os.listdir(folder)
        for path in (directory / LINES).glob("*.jsonl"):
            path.open("rb").close()
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise HistoryError(f"cannot read {error.filename}: {reason}") from None


def audit_rows(store: Store) -> list[Row]:
    """Every audit in the order of recording, with its claim and the evidence up to it."""
    columns = COLUMNS["audits"]
    names = (*columns, "sequence", "digest", "counted", "remark", "joint_log_wealth", "joint_bound")
    found = store.connection.execute(
        f"SELECT {', '.join(f'audits.{name}' for name in columns)}, audits.sequence, "
        "audits.digest, counted, remark, capital.log_wealth, capital.epsilon_lower "
        "FROM audits LEFT JOIN capital USING (sequence) ORDER BY audits.sequence"
    )
    texts = dict(store.connection.execute("SELECT digest, text FROM definitions"))
    rows: list[Row] = []
    for values in found:
        row = dict(zip(names, values, strict=True))
        row["claim"] = json.loads(texts.get(row["claim"], "{}"))
        rows.append(row)
    return rows


def count_rows(store: Store) -> list[dict[str, object]]:
    """Every count, with its link of the chain, in the order of recording."""
    names = (*COLUMNS["counts"], "sequence", "digest")
    found = store.connection.execute(f"SELECT {', '.join(names)} FROM counts ORDER BY sequence")
    return [dict(zip(names, values, strict=True)) for values in found]


def subjects(rows: Sequence[Row]) -> list[AuditedClaim]:
    """The audits by mechanism and claim, in the order of their names."""
    grouped: dict[tuple[str, str], list[Row]] = {}
    for row in rows:
        name = (row["mechanism"], json.dumps(row["claim"], sort_keys=True))
        grouped.setdefault(name, []).append(row)
    return [
        AuditedClaim(mechanism, json.loads(claim), tuple(audits))
        for (mechanism, claim), audits in sorted(grouped.items())
    ]


def claim_text(claim: Mapping[str, object]) -> str:
    """The claim of a recorded audit in a few words."""
    delta = f", delta {claim['delta']:g}" if claim.get("delta") else ""
    steps = f", distance {claim['distance']}" if claim.get("distance", 1) != 1 else ""
    if "curve" in claim:
        delta += f" of {curve_from_json(claim['curve'])}"
    return f"epsilon {claim.get('epsilon', float('nan')):g}{delta} ({claim.get('relation')}{steps})"


def bound_text(row: Row, claim: Row) -> str:
    """The bound of a recorded audit; one that refutes is above its claim, if by bets alone."""
    bound, claimed = row["epsilon_lower"], float(claim.get("epsilon", 0.0))
    if row["verdict"] == "refuted" and bound <= claimed:
        return f"> {claimed:g}"
    return f">= {bound:.3f}" if bound is not None and 0 < bound < inf else "none"


def run_numbers(subject: AuditedClaim) -> dict[str, int]:
    """The runs that audited it, numbered from 1 in the order of recording."""
    names = dict.fromkeys(row["run"] for row in subject.audits)
    return {name: number for number, name in enumerate(names, start=1)}


def refuted_before(subject: AuditedClaim) -> str:
    """The words was refuted in runs 4 to 5, where the last verdict does not say it; else ""."""
    numbers = run_numbers(subject)
    last = numbers[subject.audits[-1]["run"]]
    found = sorted({numbers[row["run"]] for row in subject.audits if row["verdict"] == "refuted"})
    if not found or found == [last]:
        return ""
    spans: list[list[int]] = []
    for number in found:
        if spans and number == spans[-1][1] + 1:
            spans[-1][1] = number
        else:
            spans.append([number, number])
    words = [f"{a}" if a == b else f"{a} to {b}" for a, b in spans]
    said = words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
    return f"was refuted in run{'s' * (len(found) > 1)} {said}"


def refuted_together(row: Row) -> bool:
    """Whether the evidence up to this audit refutes its claim, over all runs of this version."""
    wealth = row["joint_log_wealth"]
    return wealth is not None and wealth >= log(1 / ALPHA)


def export_text(kind: str, audits: Sequence[Mapping[str, object]], counts: Sequence[object]) -> str:
    """CSV of the audits, or JSON of audits and counts."""
    if kind == "json":
        data = {"schema": "dpwitness-history/1", "audits": audits, "counts": counts}
        return json.dumps(_finite(data), indent=1, allow_nan=False) + "\n"
    out = io.StringIO()
    flat = [_flat(row) for row in audits]
    names = list(dict.fromkeys(name for row in flat for name in row))
    writer = csv.DictWriter(out, names, lineterminator="\n")
    writer.writeheader()
    # A spreadsheet must not take a name for a formula.
    writer.writerows({name: _tame(value) for name, value in row.items()} for row in flat)
    return out.getvalue()


def write_parquet(path: str, audits: Sequence[Mapping[str, object]]) -> None:
    """The audits as a parquet file; InvalidArgument where pyarrow is not installed."""
    if importlib.util.find_spec("pyarrow") is None:
        raise InvalidArgument(
            "parquet needs pyarrow, which is not installed; `pip install pyarrow`, or export to "
            "a .csv or .json file"
        )
    import pyarrow
    from pyarrow import parquet

    parquet.write_table(pyarrow.Table.from_pylist([_flat(row) for row in audits]), path)


def _flat(row: Row) -> dict[str, object]:
    claim = {f"claim_{name}": value for name, value in row["claim"].items()}
    return {**{name: value for name, value in row.items() if name != "claim"}, **claim}


def _tame(value: object) -> object:
    return f"'{value}" if isinstance(value, str) and value[:1] in "=+-@\t\r" and value else value


def _finite(data: object) -> object:
    """Infinities, which JSON has not, as "inf" and "-inf"."""
    if isinstance(data, float) and not isfinite(data):
        return "inf" if data > 0 else "-inf"
    if isinstance(data, Mapping):
        return {key: _finite(value) for key, value in data.items()}
    return [_finite(item) for item in data] if isinstance(data, (list, tuple)) else data


def statement(run: str, audits: Sequence[Row], head: Mapping[str, object]) -> dict[str, object]:
    """An in-toto Statement v1 on one run, unsigned: for an attestation tool to sign.

    Its subjects are the sources audited, by fingerprint; those without one are in the predicate
    only. `head` is the end of the history's chains, which fixes everything recorded before.
    """
    sources = {row["source"]: row["mechanism"] for row in audits if row["source"]}
    if not sources:
        raise InvalidArgument(
            f"run {run!r} has audited nothing with a known source, so a statement on it would have "
            "no subject"
        )
    shown = ("test", "mechanism", "target", "claim", "verdict", "epsilon_lower", "alpha", "draws",
             "detectable_epsilon", "seed", "source", "note", "recorded", "evidence", "digest",
             "joint_bound")  # fmt: skip
    return {
        "_type": STATEMENT,
        "subject": [
            {"name": name, "digest": {"blake2b-128": source}}
            for source, name in sorted(sources.items())
        ],
        "predicateType": PREDICATE,
        "predicate": _finite(
            {
                "run": run,
                "results": [{name: row[name] for name in shown} for row in audits],
                "history": head,
                "environment": environment(),
            }
        ),
    }


def kind_of(path: str) -> str:
    """The format that the end of a file name asks for."""
    kind = Path(path).suffix.lstrip(".").lower()
    if kind not in ("html", "json", *(one.name for one in TABLES)):
        raise InvalidArgument(
            f"-o takes a file that ends in .html, .csv, .json or .parquet; got {path!r}"
        )
    return kind
