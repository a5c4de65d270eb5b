"""The history for other programs: CSV, JSON, parquet, and an unsigned in-toto statement."""

import csv
import importlib.util
import io
import json
from collections.abc import Mapping, Sequence
from math import isfinite
from pathlib import Path
from typing import Any

from ...auditors.errors import InvalidArgument
from ..record.evidence import environment

FORMATS = ("csv", "json", "parquet")
STATEMENT = "https://in-toto.io/Statement/v1"
PREDICATE = "urn:dpwitness:history:1"


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


def _flat(row: Mapping[str, Any]) -> dict[str, object]:
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


def statement(
    run: str, audits: Sequence[Mapping[str, Any]], head: Mapping[str, Any]
) -> dict[str, Any]:
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
    if kind not in (*FORMATS, "html"):
        raise InvalidArgument(
            f"-o takes a file that ends in .html, .csv, .json or .parquet; got {path!r}"
        )
    return kind
