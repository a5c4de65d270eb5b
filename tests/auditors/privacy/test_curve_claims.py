"""Claims of whole curves: judged at a point that was chosen before it was counted."""

from dataclasses import replace
from math import log

import numpy as np
import pytest
from hypothesis import strategies as st

from dpwitness import (
    GaussianCurve,
    Mechanism,
    PointsCurve,
    PrivacyClaim,
    Relation,
    RenyiCurve,
    Verdict,
    audit,
    audit_claims,
)
from dpwitness.auditors.errors import ContractError, InvalidArgument
from dpwitness.auditors.evidence.conversion import revived
from dpwitness.auditors.privacy.replay import recount
from dpwitness.auditors.privacy.rerun import recheck
from dpwitness.mechanisms.model.curves import lines_of
from dpwitness.reports.faces import as_html, as_text, wording
from dpwitness.reports.record import evidence

PAIR = {"pair": ([], [1]), "relation": "add-remove"}


def gauss(scale):
    def release(database, rng, *, size=None):
        return sum(database) + rng.normal(scale=scale, size=size)

    return release


def two_scores(epsilon):
    """Permute and flip over two candidates with scores of the database."""

    def release(scores, rng, *, size=None):
        gaps = np.exp(epsilon / 2 * (np.asarray(scores, dtype=float) - max(scores)))
        first = rng.integers(0, 2, size=size)
        return np.where(rng.random(size) < gaps[first], first, 1 - first)

    return release


@pytest.mark.parametrize(
    "claim", [{"epsilon": 1e300}, {"epsilon": 800, "delta": 1e-5}, {"epsilon": 100, "distance": 10}]
)
def test_a_claim_whose_ratio_is_no_double_is_audited(claim):
    """Draws refute it of nobody; an exact law does, by an output that one side never gives."""
    result = audit(gauss(0.1), trials=2000, **claim, **PAIR)
    assert result.verdict is Verdict.INCONCLUSIVE
    as_html.render([result], evidence.document([result], replay=""))

    def gives_away(database, rng):
        return len(database) if rng.random() < 0.3 else 0

    assert audit(gives_away, trials=2000, **claim, **PAIR).verdict is Verdict.REFUTED


@pytest.mark.parametrize("steps", [1, 3])
def test_a_curve_that_allows_everything_is_named(steps):
    with pytest.raises(ValueError, match="promises nothing that draws could refute"):
        lines_of(RenyiCurve(((2.0, 1000.0),)), steps)


@pytest.mark.filterwarnings("error")
def test_a_point_whose_ratio_is_no_double_is_drawn():
    points = PointsCurve(((1000.0, 0.0), (900.0, 1e-6)))
    claim = PrivacyClaim.of_curve(points, Relation.ADD_REMOVE)
    assert as_html.claimed_trade_off(claim)[0] == (0.0, 1.0)


def test_an_epsilon_that_somebody_states_takes_the_place_of_points_and_not_of_curves():
    """Of a mechanism that states both, one claim is judged; of one with curves alone, one too."""
    curve = PrivacyClaim.of_curve(GaussianCurve(1.0), Relation.ADD_REMOVE)
    point = PrivacyClaim(epsilon=2.0, relation=Relation.ADD_REMOVE, delta=0.1)
    for claims, delta in (((point, curve), 0.1), ((curve,), 0.0)):
        both = Mechanism(name="both", run=gauss(1.0), claims=claims)
        (found,) = audit_claims(both, epsilon=1.0, pair=PAIR["pair"], trials=2000)
        assert (found.claim.epsilon, found.claim.delta, found.claim.curve) == (1.0, delta, None)
        asked = audit(both, epsilon=1.0, delta=0.0, pair=PAIR["pair"], trials=2000)
        assert (asked.claim.epsilon, asked.claim.delta) == (1.0, 0.0)


@pytest.mark.long
def test_noise_a_tenth_too_narrow_is_refuted_by_its_mu_and_not_by_a_point_of_it():
    found = audit(gauss(0.9), mu=1.0, **PAIR, trials=60_000, precision=None)
    assert found.refuted
    assert (found.claim.epsilon, found.claim.delta) in lines_of(GaussianCurve(1.0))
    assert 1.0 <= found.size_lower <= 1 / 0.9
    assert found.evidence.decided_after <= 16_000
    point = {"epsilon": 4.377, "delta": 1e-5}
    assert not audit(gauss(0.9), **point, **PAIR, trials=60_000).refuted


@pytest.mark.long
@pytest.mark.parametrize("claim", [{"rho": 0.5}, {"renyi": ((2, 1.0),)}], ids=str)
def test_noise_a_tenth_too_narrow_is_refuted_by_a_moment_that_no_event_shows(claim):
    """No event lies outside these curves; the probability that 100,000 do not do is below .01."""
    found = audit(gauss(0.9), **claim, **PAIR, trials=200_000, precision=None)
    assert found.refuted
    assert found.evidence.decided_after <= 100_000
    assert found.evidence.bets.of_moments
    assert found.size_lower == found.claim.curve.size
    record = evidence.document([found], replay="")["results"][0]
    assert revived(record).evidence == found.evidence
    assert recount(gauss(0.9), record).same
    told = " ".join(as_text.render(found, replay="x").split())
    assert f"a loss above {found.claim.curve}, with 99.9 % confidence." in told
    assert "a sequential test of all outputs of these runs refuted the claim" in told
    page = as_html.render([found], evidence.document([found], replay=""))
    assert "What bets against the claim won" in page
    assert "How the bound grew" not in page
    batch = record["evidence"]["bets"]["batches"][-1]
    batch["parts"][0]["weight"] *= 1.5
    # The file has the bets and no verdict of theirs: what is no bet refutes nothing.
    assert recount(gauss(0.9), record).verdict is not Verdict.REFUTED


def own_gauss(scale):
    """Gaussian noise of a generator of its own."""

    def release(database, rng, *, size=None):
        return sum(database) + np.random.default_rng().normal(scale=scale, size=size)

    return release


@pytest.mark.slow
def test_a_mechanism_with_randomness_of_its_own_is_refuted_by_a_moment():
    """It is missed in 200,000 draws with probability below .001; a wrong one has alpha."""
    asked = {"rho": 0.5, "seeded": False, "trials": 200_000, "precision": None, **PAIR}
    found = audit(own_gauss(0.9), **asked)
    assert found.refuted
    assert found.evidence.bets.of_moments
    again = recount(own_gauss(0.9), evidence.document([found], replay="")["results"][0])
    assert again.same
    assert not again.seeded
    assert not audit(own_gauss(1.0), **{**asked, "trials": 20_000}).refuted


def test_draws_that_share_a_noise_are_no_moment():
    """Each process has one shift of its own: outputs come in clumps, which bets would win on."""

    def release(database, rng, *, size=None):
        global SHIFT
        own = np.random.default_rng()
        SHIFT = own.normal() if SHIFT is None else SHIFT
        return sum(database) + SHIFT + own.normal(scale=0.3, size=size)

    with pytest.raises(ContractError, match="not independent"):
        audit(release, rho=0.5, seeded=False, trials=20_000, precision=None, **PAIR)


SHIFT = None


@pytest.mark.long
def test_permute_and_flip_breaks_the_rho_of_the_exponential_mechanism():
    pair = {"pair": ([0, 0], [1, -1]), "relation": "declared"}
    found = audit(two_scores(2.0), rho=0.5, **pair, trials=60_000, precision=None)
    assert found.refuted
    assert found.evidence.decided_after <= 6000
    assert not audit(two_scores(2.0), epsilon=2.0, **pair, trials=60_000).refuted


@pytest.mark.slow
@pytest.mark.parametrize(
    "claim",
    [{"mu": 1.0}, {"rho": 0.5}, {"rho": 0.4, "delta": 0.1}, {"renyi": ((2, 1.0), (8, 4.0))},
     {"curve": ((1.0, 0.13), (2.0, 0.021))}, {"mu": 0.5, "distance": 2}],
    ids=str,
)  # fmt: skip
def test_a_true_curve_stands_and_a_false_one_falls_and_both_replay(claim):
    pair = {**PAIR, "pair": ([], [1] if "distance" not in claim else [0.5, 0.5])}
    for scale, verdict in ((1.0, Verdict.NOT_REFUTED), (0.5, Verdict.REFUTED)):
        found = audit(gauss(scale), **claim, **pair, trials=20_000, seed=3)
        assert found.verdict is verdict
        assert found.refuted == (found.size_lower >= found.claim.curve.size)
        record = evidence.document([found], replay="")["results"][0]
        assert revived(record).claim == found.claim
        again = recount(gauss(scale), record)
        assert again.same, again.differences
        for text in (as_text.render(found, replay="x"),
                     as_html.render([found], evidence.document([found], replay=""))):  # fmt: skip
            assert str(found.claim.curve) in " ".join(text.split())
        assert wording.claim_phrase(found.claim).startswith(str(found.claim.curve))


@pytest.mark.long
def test_a_point_that_was_tampered_with_is_named():
    found = audit(gauss(0.5), mu=1.0, **PAIR, trials=8000)
    record = evidence.document([found], replay="")["results"][0]
    for changes in ({"delta": 0.9 * found.claim.delta}, {"curve": {"mu": 0.9}}):
        forged = {**record, "claim": {**record["claim"], **changes}}
        assert any(
            "no point of the curve" in one for one in recount(gauss(0.5), forged).differences
        )


@pytest.mark.long
def test_the_search_finds_pairs_for_a_curve_and_shows_a_smaller_one():
    bits = st.lists(st.integers(0, 1), max_size=8)
    found = audit(gauss(0.7), mu=1.0, databases=bits, relation="add-remove", trials=20_000)
    assert found.refuted
    assert found.witness.epsilon_lower >= found.claim.epsilon


@pytest.mark.long
@pytest.mark.parametrize(
    "claim",
    [{"mu": 1.0, "distance": 2}, {"rho": 0.5, "distance": 2}, {"curve": [(1, 0.127), (0.5, 0.25)]}],
    ids=str,
)
def test_the_smaller_pair_of_a_curve_is_small(claim):
    """Sums differ by any one or two entries, so that nothing else need be in the databases."""
    domain = st.lists(st.integers(0, 1), max_size=8)
    found = audit(gauss(0.5), databases=domain, relation="add-remove", **claim, seed=1)
    assert found.refuted
    shown = found.witness
    assert len(shown.database) + len(shown.neighbour) <= 2


@pytest.mark.long
def test_a_mechanism_carries_a_curve():
    claim = PrivacyClaim.of_curve(GaussianCurve(1.0), Relation.ADD_REMOVE)
    carried = Mechanism(name="narrow", run=gauss(0.5), claims=(claim,))
    (found,) = audit_claims(carried, pair=([], [1]), trials=8000)
    assert found.refuted
    assert found.claim.curve == GaussianCurve(1.0)
    assert not audit(carried, pair=([], [1]), trials=8000, mu=2.0).refuted
    stated = audit(carried, pair=([], [1]), trials=8000, epsilon=9.0)
    assert (stated.claim.curve, stated.claim.epsilon) == (None, 9.0)


@pytest.mark.long
def test_a_witness_is_counted_again_at_the_point_that_its_rates_break_most():
    found = audit(gauss(0.5), mu=1.0, **PAIR, trials=8000)
    record = evidence.document([found], replay="")["results"][0]
    for mu, refuted in ((1.0, True), (3.0, False)):
        claim = PrivacyClaim.of_curve(GaussianCurve(mu), Relation.ADD_REMOVE)
        again = recheck(gauss(0.5), record, claims=(claim,), trials=5000, alpha=1e-3, seed=9)
        assert again.refuted == refuted
        assert (again.claim.epsilon, again.claim.delta) in lines_of(GaussianCurve(mu))


@pytest.mark.parametrize(
    "claim", [{"mu": 1.0, "epsilon": 1.0}, {"mu": 1.0, "rho": 1.0}, {"mu": 0.0}, {"rho": "x"},
              {"renyi": (2, 1)}, {"curve": ((1, 2),)}, {"mu": 1.0, "delta": 1e-5}],
)  # fmt: skip
def test_a_claim_that_is_none_is_refused_in_a_sentence(claim):
    with pytest.raises(InvalidArgument):
        audit(gauss(1.0), **claim, **PAIR, trials=100)


@pytest.mark.long
def test_the_same_seed_gives_the_same_bits_for_any_number_of_workers():
    one, two = (
        audit(gauss(0.8), mu=1.0, **PAIR, trials=40_000, workers=workers) for workers in (1, 2)
    )
    assert replace(one, seconds=0.0) == replace(two, seconds=0.0)


@pytest.mark.long
@pytest.mark.parametrize("claim", [{"mu": 1.0}, {"rho": 0.5}], ids=str)
def test_the_smaller_pair_is_small_where_a_moment_is_hardly_too_large(claim):
    domain = st.lists(st.integers(0, 1), max_size=8)
    asked = {"databases": domain, "relation": "add-remove", "trust_rows": True}
    found = audit(gauss(0.9), **asked, **claim)
    assert found.refuted
    assert len(found.witness.database) + len(found.witness.neighbour) <= 3


@pytest.mark.parametrize(
    ("claim", "words"),
    [({"mu": 1.0}, "mu >= 0."), ({"rho": 0.5}, "rho >= 0."), ({"renyi": ((2, 1.0),)}, ">= 0.")],
    ids=str,
)
def test_a_bound_in_one_line_is_of_the_parameter_that_was_claimed(claim, words):
    """An epsilon beside the claim "mu 1" looks like a violation of it."""
    found = audit(gauss(1.0), **claim, **PAIR, trials=20_000)
    assert not found.refuted
    said = wording.bound_phrase(found)
    assert said.startswith(words)
    assert float(said.partition(">= ")[2].split()[0]) <= found.claim.curve.size


def test_a_curve_that_stands_is_judged_where_a_bound_is_foreseen():
    def coin(database, rng, *, size=None):
        return (rng.random(size) < (0.4, 0.6)[database[0]]) * 1

    # The rho of these rates is ln(1.5) / 5 = .081; draws look worst against delta .17 or so.
    found = audit(
        coin, rho=0.085, pair=([0], [1]), relation="replace-one", trials=20_000, precision=None
    )
    assert not found.refuted
    assert 0.04 < found.size_lower <= 0.2 * log(1.5)
