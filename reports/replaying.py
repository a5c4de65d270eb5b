"""Evidence counted again, for the command line and for Python alike."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from os import PathLike, fspath
from typing import Any

from ..auditors.arguments import checked
from ..auditors.evidence.record import ResultRecord
from ..auditors.privacy.replay import Replay, recount
from ..auditors.results import AuditResult
from ..mechanisms.model import Mechanism, NegativeControl
from . import trust
from .record import evidence, reading


@checked
def replay(
    recorded: str | PathLike[str] | Mapping[str, Any] | AuditResult,
    mechanism: Mechanism | NegativeControl | Callable[..., Any] | None = None,
    *,
    workers: int = 1,
    timeout: float = 10.0,
) -> tuple[Replay, ...]:
    """Draw the recorded streams again and count the recorded events; one Replay for each result.

    `recorded` is the path of an evidence file, what such a file holds, or the result of an audit.
    Without a `mechanism` only a target of the catalogue is run: other code that the evidence names
    is not, because somebody else may have written the file.
    `workers` are processes to draw in, `timeout` the seconds one call may take.

    Raises EvidenceFormatError for evidence that is damaged, InvalidArgument where it names no
    target and no mechanism is given, and ContractError when the mechanism fails.
    """
    if isinstance(recorded, AuditResult):
        recorded = dict(evidence.document([recorded], replay=""))
    if isinstance(recorded, Mapping):
        records = reading.entries_of(dict(recorded), "the evidence")
    else:
        records = reading.load_evidence(fspath(recorded))
    return tuple(
        outcome for _, outcome in replayed(records, mechanism, workers=workers, timeout=timeout)
    )


def replayed(
    records: Sequence[ResultRecord],
    mechanism: Any = None,
    *,
    workers: int = 1,
    timeout: float = 10.0,
    tell: Callable[[str], None] = lambda target: None,
    named: Sequence[str] = (),
    program: str | None = None,
    ask: trust.Ask | None = None,
    path: str = "EVIDENCE.json",
) -> Iterator[tuple[ResultRecord, Replay]]:
    """Each record with what counting it again gave; `tell` hears the target before it is run.

    `named` are the targets and `program` the program that the user typed, `ask` puts a question
    to the user; see `trust`.
    """
    if mechanism is not None:
        for record in records:
            yield record, recount(mechanism, record, workers=workers, timeout=timeout)
        return
    chosen = trust.allowed(records, named, program=program, ask=ask, path=path)
    for record, target in zip(records, chosen, strict=True):
        if target is None:
            continue
        tell(target)
        found = trust.find(target, timeout)
        outcome = recount(
            found.mechanism, record, name=found.name, workers=workers, timeout=timeout
        )
        if not trust.same_target(target, record["target"]):
            sentence = f"target: recorded {record['target']}, replayed {target}"
            outcome = replace(outcome, differences=(*outcome.differences, sentence))
        yield record, outcome
