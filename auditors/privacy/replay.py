"""Counting again: the same events on the same streams must give the same integers."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from ...mechanisms.model import Mechanism, PrivacyClaim, Relation
from ..errors import EvidenceFormatError, InvalidArgument
from ..events.events import event_from_json
from ..outputs.encoding import canonical, from_json
from ..results import Count, Pair, Verdict
from ..sampling.sampling import STAGES, Sampler
from . import request
from .attempt import Test, bound_of
from .budget import Budget

__all__ = ["Replay", "read_count", "read_record", "recount"]

MOST_TRIALS = 10**10


@dataclass(frozen=True, slots=True, kw_only=True)
class Replay:
    """What counting again gave, and in what it differs from the record.

    `verdict` is the one the new counts support: those of the worst pair, and of the smaller one
    where the record has it; `counts` has them in this order. For a mechanism that is not `seeded`
    the counts are a repetition of the experiment, and `differences` is empty.
    """

    verdict: Verdict
    epsilon_lower: float
    counts: tuple[Count, ...]
    differences: tuple[str, ...]
    seeded: bool

    @property
    def same(self) -> bool:
        """Whether every integer and the bound came out as recorded."""
        return not self.differences


def recount(
    mechanism: Any, record: Mapping[str, Any], *, workers: int = 1, timeout: float = 10.0
) -> Replay:
    """Draw the recorded streams again and count the recorded events.

    `record` is one entry of `results` in an evidence file. Raises EvidenceFormatError when it
    is malformed and ContractError when the mechanism fails.
    """
    pair, test, counts, level, sampler = read_record(mechanism, record, workers, timeout)
    with _damage():
        recorded = Verdict(record["verdict"])
        blocks = (int(record["plan"]["block"]), sampler.block)
        parts = [(pair, counts, level, _number(record["epsilon_lower"]))]
        if recorded is Verdict.REFUTED:
            parts += _smaller(record, test, pair)
    found: list[Count] = []
    bounds, differences = [], list(_moved(blocks))
    for where, old, spent, bound in parts:
        new = tuple(_again(sampler, where, count) for count in old)
        bounds.append(bound_of(new, test, spent))
        differences += _differences(old, new, bound, bounds[-1])
        found += new
    verdict = recorded
    if recorded is Verdict.REFUTED and min(bounds) < test.claim.epsilon:
        verdict = Verdict.NOT_REFUTED
    return Replay(
        verdict=verdict,
        epsilon_lower=bounds[0],
        counts=tuple(found),
        differences=tuple(differences) if sampler.seeded else (),
        seeded=sampler.seeded,
    )


def _smaller(
    record: Mapping[str, Any], test: Test, pair: Pair
) -> list[tuple[Pair, tuple[Count, ...], float, float]]:
    """The witness with its counts, level and bound, where it is not the pair counted anyway."""
    witness = record.get("witness") or {}
    evidence = witness.get("evidence")
    if not evidence:
        return []
    counts = tuple(read_count(data) for data in evidence["counts"])
    small = Pair(from_json(witness["database"]), from_json(witness["neighbour"]))
    small = small.reversed() if counts[-1].reversed else small
    if canonical((small.database, small.neighbour)) == canonical((pair.database, pair.neighbour)):
        return []
    return [(small, counts, _level(evidence, test.alpha), _number(witness["epsilon_lower"]))]


def read_record(
    mechanism: Any, record: Mapping[str, Any], workers: int, timeout: float
) -> tuple[Pair, Test, tuple[Count, ...], float, Sampler]:
    """(pair, test, counts, level of the bound, sampler) of one entry of `results`.

    Raises EvidenceFormatError when it is malformed.
    """
    with _damage():
        return _read(mechanism, record, workers, timeout)


@contextmanager
def _damage() -> Iterator[None]:
    try:
        yield
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError) as error:
        if isinstance(error, EvidenceFormatError):
            raise
        raise EvidenceFormatError(
            f"the evidence lacks a needed field or has one of the wrong kind ({error!r:.120})"
        ) from None


def _read(
    mechanism: Any, record: Mapping[str, Any], workers: int, timeout: float
) -> tuple[Pair, Test, tuple[Count, ...], float, Sampler]:
    evidence, claim, plan = record["evidence"], record["claim"], record["plan"]
    counts = tuple(read_count(data) for data in evidence["counts"])
    if not counts:
        raise EvidenceFormatError("the evidence holds no counts, so there is nothing to replay")
    seeded = bool(record["seeded"])
    subject: Mechanism = request.subject(mechanism, "", "", seeded)
    pair = Pair(from_json(record["pair"]["database"]), from_json(record["pair"]["neighbour"]))
    try:
        privacy = PrivacyClaim(
            epsilon=_number(claim["epsilon"]),
            delta=_number(claim["delta"]),
            relation=Relation(claim["relation"]),
            distance=int(claim["distance"]),
        )
        trials, alpha = int(plan["trials"]), _number(evidence["alpha"])
        Budget(trials=trials, alpha=alpha, seed=int(record["seed"]))
        request.require(workers, timeout)
    except InvalidArgument as error:
        raise EvidenceFormatError(f"the evidence has an impossible value: {error}") from None
    test = Test(claim=privacy, trials=trials, alpha=alpha)
    sampler = Sampler(
        run=subject.run,
        seed=int(record["seed"]),
        seeded=seeded,
        workers=workers,
        limit=timeout,
        exceptions="output" if plan.get("exceptions") == "output" else "error",
    )
    return pair, test, counts, _level(evidence, alpha), sampler


def _level(evidence: Mapping[str, Any], alpha: float) -> float:
    level = _number(evidence["level"])
    if not 0 < level <= alpha:
        raise EvidenceFormatError(f"level must be between 0 and alpha, got {level!r}")
    return level


def read_count(data: Mapping[str, Any]) -> Count:
    """One count of an evidence file; EvidenceFormatError for impossible integers."""
    hits, trials = (tuple(int(n) for n in data[key]) for key in ("hits", "trials"))
    if len(hits) != 2 or len(trials) != 2 or trials[0] != trials[1]:
        raise EvidenceFormatError("hits and trials must be two whole numbers each, trials equal")
    if not all(0 <= h <= n <= MOST_TRIALS and n > 0 for h, n in zip(hits, trials, strict=True)):
        raise EvidenceFormatError(f"expected 0 <= hits <= trials, got {hits} of {trials}")
    stage, chunk = str(data["stage"]), int(data["chunk"])
    if stage not in STAGES or chunk < 0:
        raise EvidenceFormatError(f"no stream is named stage {stage!r:.40}, chunk {chunk}")
    rates = [_number(rate) for rate in data["rates"]]
    return Count(
        stage=stage,
        chunk=chunk,
        event=event_from_json(data["event"]),
        reversed=bool(data["reversed"]),
        hits=(hits[0], hits[1]),
        trials=(trials[0], trials[1]),
        predicted=_number(data["predicted"]),
        spread=_number(data["spread"]),
        rates=(rates[0], rates[1]),
    )


def _number(value: Any) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise EvidenceFormatError(f"expected a number, got {value!r:.60}")
    if isinstance(value, str) and value not in ("inf", "-inf"):
        raise EvidenceFormatError(f"expected a number or 'inf', got {value!r:.60}")
    return float(value)


def _again(sampler: Sampler, pair: Pair, count: Count) -> Count:
    hits, _, _ = sampler.count(pair, count.event, count.stage, count.chunk, count.trials[0])
    return replace(count, hits=hits)


def _moved(blocks: tuple[int, int]) -> Iterator[str]:
    """What to say where draws are cut into other blocks than they were."""
    if blocks[0] != blocks[1]:
        yield (
            f"draws are now made {blocks[1]} to a block and were made {blocks[0]} to a block, so "
            "the streams differ: the mechanism gained or lost its size= argument"
        )


def _differences(
    old: Sequence[Count], new: Sequence[Count], old_bound: float, new_bound: float
) -> Iterator[str]:
    same = True
    for before, after in zip(old, new, strict=True):
        if before.hits != after.hits:
            same = False
            yield (
                f"{before.stage} chunk {before.chunk}: recorded {before.hits[0]} and "
                f"{before.hits[1]} hits, now {after.hits[0]} and {after.hits[1]} of "
                f"{after.trials[0]}"
            )
    if same and not (old_bound == new_bound or abs(old_bound - new_bound) < 1e-12):
        yield f"the counts are the same but the bound they give is {new_bound:g}, not {old_bound:g}"
