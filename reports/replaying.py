"""Evidence counted again, for the command line and for Python alike."""

from collections.abc import Callable, Iterator, Mapping
from os import PathLike, fspath
from typing import Any

from ..auditors.arguments import checked
from ..auditors.errors import InvalidArgument
from ..auditors.privacy.replay import Replay, recount
from ..auditors.results import AuditResult
from ..mechanisms.model import Mechanism, NegativeControl
from . import targets
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
    Without a `mechanism` the target that the evidence names is loaded, which runs its code.
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
    records: list[dict[str, Any]],
    mechanism: Any = None,
    *,
    workers: int = 1,
    timeout: float = 10.0,
    tell: Callable[[str], None] = lambda target: None,
    program: str | None = None,
) -> Iterator[tuple[dict[str, Any], Replay]]:
    """Each record with what counting it again gave; `tell` hears the target before it is run.

    `program` is the one program that the evidence may name and have run.
    """
    if mechanism is None:
        for record in records:
            if not record["target"]:
                raise InvalidArgument(
                    "the evidence was made from Python and names no target; give the mechanism, "
                    "as in dpwitness.replay(evidence, mechanism)"
                )
            targets.refuse_foreign(record["target"], program)
    for record in records:
        subject = mechanism
        if subject is None:
            tell(record["target"])
            subject = targets.find_target(record["target"], timeout).mechanism
        yield record, recount(subject, record, workers=workers, timeout=timeout)
