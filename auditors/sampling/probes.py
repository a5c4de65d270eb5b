"""What a mechanism is asked before it is audited: whether it keeps its contract, by a few calls."""

from dataclasses import dataclass
from hashlib import blake2b
from time import monotonic

from ..errors import ContractError
from ..outputs.encoding import told
from ..results import Pair
from .calls import REMEMBERS, generator
from .contract import require_signature
from .memory import forgetting, remembered
from .sampling import PROBE, Sampler
from .surroundings import require_untouched_numpy


def check_contract(sampler: Sampler, pair: Pair) -> str:
    """Run the mechanism a few times on both databases and check what it promises by its form.

    Returns a digest of the outputs, equal whenever the check is run again on a mechanism that
    keeps no state. Raises ContractError with the one sentence that says what is broken.
    """
    require_signature(sampler.run)
    require_untouched_numpy()
    before = remembered(sampler.run)
    probes = []
    for attempt in range(3):
        # The other side runs in between, so that a memory of the last call shows.
        order = (0, 1) if attempt != 1 else (1, 0)
        with sampler.naming(pair):
            sides = {side: _probe(sampler, pair, side) for side in order}
        probes.append((sides[0], sides[1]))
    if sampler.seeded and len({(one.digest, two.digest) for one, two in probes}) > 1:
        raise ContractError(_not_a_function(before, remembered(sampler.run)), keywords=("seeded",))
    if sampler.seeded and len({(one.state, two.state) for one, two in probes}) > 1:
        raise ContractError(REMEMBERS)
    if all(probe.constant for both in probes for probe in both):
        _require_no_memory(sampler, pair)
    first, second = probes[0]
    return first.digest + second.digest


def _not_a_function(before: dict[str, str], after: dict[str, str]) -> str:
    changed = sorted(name for name in after if after[name] != before.get(name))
    if changed:
        return (
            f"the mechanism keeps state between calls: its variable {changed[0]!r} changed, and "
            "its outputs differ for the same database and rng state; pass all state in"
        )
    return (
        "the mechanism gives different outputs for the same database and rng state; it draws "
        "randomness from elsewhere than the rng it is given (the operating system, a clock, a "
        "generator of its own): use the rng, or declare it with seeded=False"
    )


@dataclass(frozen=True, slots=True)
class _Probe:
    """A few outputs, where they left the generator, and whether they are all one, made of none."""

    digest: str
    state: str
    constant: bool


def _probe(sampler: Sampler, pair: Pair, side: int, chunk: int = 0) -> _Probe:
    database = (pair.database, pair.neighbour)[side]
    rng = generator(sampler.seed, sampler.tally.keys.of(pair), "contract", side, chunk, 0)
    before = repr(rng.bit_generator.state)
    started = monotonic()
    outputs = sampler.calls.outputs(database, rng, PROBE)
    sampler.tally.pace = (monotonic() - started) / PROBE
    sampler.tally.add(PROBE)
    # Digests of the rows: the text of a wide one takes much memory.
    rows = [blake2b(told(row), digest_size=16).digest() for row in outputs.rows(PROBE)]
    state = repr(rng.bit_generator.state)
    return _Probe(
        digest=blake2b(b"".join(rows), digest_size=16).hexdigest(),
        state=state,
        constant=len(set(rows)) == 1 and state == before,
    )


def _require_no_memory(sampler: Sampler, pair: Pair) -> None:
    """Tell a mechanism without randomness from one that only repeats what it once drew.

    Both answer the same whatever the rng; the second draws anew when its memory is emptied.
    """
    for side in (0, 1):
        fresh = set()
        for chunk in (101, 102):
            with forgetting(sampler.run):
                try:
                    fresh.add(_probe(sampler, pair, side, chunk).digest)
                except ContractError as error:
                    # Anything else it breaks without what it held, a lookup table say, is no news.
                    if str(error) == REMEMBERS:
                        raise
        if len(fresh) > 1:
            raise ContractError(REMEMBERS)
