"""Purity as a claim: the mechanism is a function of (database, rng) and of nothing else."""

from time import monotonic

from ...mechanisms.model import Mechanism, Pair
from ..arguments import checked
from ..errors import ContractError
from ..outputs.encoding import show
from ..results.results import Verdict
from ..sampling.draws import some_databases
from ..sampling.sampling import Sampler
from .claim_results import ClaimResult, Finding, Table

STATEMENT = (
    "returns for every database, leaves it alone, and draws all its randomness from the rng it is "
    "given"
)


CALLS = 64
"""Calls on each database that are made again."""


def _require_function(sampler: Sampler, pair: Pair) -> None:
    """Call the mechanism on both databases, and make the draws again; ContractError."""
    sampler.check_call(pair)
    sampler.draw(pair, "claim", 0, CALLS)
    sampler.gate(refuted=False)


@checked
def check_purity(mechanism: Mechanism, *, seed: int = 0, timeout: float = 10.0) -> ClaimResult:
    """Run the mechanism on a few databases and look whether it keeps its contract.

    A breach of the `mechanism` refutes with certainty; that none was met proves nothing. `seed`
    decides all randomness, and one call may take `timeout` seconds.
    """
    started = monotonic()
    sampler = Sampler(run=mechanism.run, seed=seed, seeded=mechanism.seeded, limit=timeout)
    databases = some_databases(mechanism)
    verdict, note, witness, rows = Verdict.NOT_REFUTED, "", None, []
    for one, two in zip(databases, [*databases[1:], databases[0]], strict=True):
        try:
            _require_function(sampler, Pair(one, two))
        except ContractError as error:
            verdict, note, witness = Verdict.REFUTED, str(error), one
            rows.append((show(one), show(two), note))
            break
        rows.append((show(one), show(two), "kept"))
    return ClaimResult(
        identifier=f"{mechanism.identifier or mechanism.name}:purity",
        statement=f"{mechanism.name} {STATEMENT}",
        reference="",
        kind="purity",
        finding=Finding(
            claimed=0.0,
            sampled=verdict,
            draws=sampler.tally.draws,
            method="repeated runs with equal generators",
            note=note,
            table=Table(columns=("database", "other database", "contract"), rows=tuple(rows)),
            witness=witness,
        ),
        seconds=monotonic() - started,
        seed=seed,
    )
