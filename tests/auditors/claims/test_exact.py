from dataclasses import replace
from functools import partial
from math import exp, log

import numpy as np
import pytest

from dpwitness import HarnessError, Pair, Verdict, check
from dpwitness.auditors.claims.check import drawn_losses
from dpwitness.auditors.claims.exact import exact_privacy
from dpwitness.mechanisms.model import (
    Choices,
    FiniteLaw,
    LaplaceLaw,
    LossLaw,
    Mechanism,
    PrivacyClaim,
    Relation,
    Rows,
    Subject,
)
from dpwitness.mechanisms.noise.laplace import LAPLACE_VECTOR
from dpwitness.mechanisms.noise.randomized_response import RANDOMIZED_RESPONSE
from dpwitness.mechanisms.queries import histogram
from dpwitness.mechanisms.selection.exponential import exponential, log_probabilities

SCORE = partial(histogram, categories=3)
CLAIM = PrivacyClaim(epsilon=1.0, relation=Relation.REPLACE_ONE, identifier="em")


def law_of(database, sensitivity=1.0):
    logs = log_probabilities(SCORE(database), sensitivity=sensitivity, epsilon=1.0)
    return FiniteLaw(outcomes=np.arange(3), log_probabilities=logs)


def choosing(sensitivity):
    return Mechanism(
        name="choosing",
        run=partial(exponential, score=SCORE, sensitivity=sensitivity, epsilon=1.0),
        databases=Rows(row=Choices(values=(0, 1, 2))),
        law=partial(law_of, sensitivity=sensitivity),
        claims=(CLAIM,),
    )


def test_a_true_claim_is_proved_on_a_named_universe():
    found = exact_privacy(choosing(1.0), CLAIM)
    assert found.verdict is Verdict.PROVED
    # Both scores move: the loss comes near 1 and stays below.
    assert 0.9 < found.epsilon < 1
    assert "all " in found.scope
    assert "lists of 0 to" in found.scope


def test_a_false_claim_is_refuted_with_the_exact_epsilon():
    found = exact_privacy(choosing(0.5), CLAIM)
    assert found.verdict is Verdict.REFUTED
    assert 1.8 < found.epsilon < 2
    assert found.rows[0][2] == found.epsilon
    one, two = found.pair.database, found.pair.neighbour
    ratio = law_of(one, 0.5).log_probabilities - law_of(two, 0.5).log_probabilities
    assert ratio.max() == pytest.approx(found.epsilon)


def test_delta_is_bounded_from_both_sides():
    for delta, verdict in ((0.2, Verdict.PROVED), (0.001, Verdict.REFUTED)):
        claim = replace(CLAIM, epsilon=0.5, delta=delta)
        found = exact_privacy(choosing(1.0), claim)
        assert found.verdict is verdict
        assert found.delta[0] <= found.delta[1] < found.delta[0] + 1e-8
    assert 0.5 < found.epsilon < 1


def test_laplace_and_loss_laws():
    centred = replace(
        LAPLACE_VECTOR,
        law=lambda db: LaplaceLaw(centres=np.asarray(SCORE(db), dtype=float), scale=1.0),
    )
    found = exact_privacy(centred, LAPLACE_VECTOR.claims[0])
    assert found.verdict is Verdict.PROVED
    assert found.epsilon == pytest.approx(1)
    losing = replace(
        RANDOMIZED_RESPONSE,
        privacy_loss=lambda one, two: LossLaw(
            losses=np.array([1.5, -1.5]), probabilities=np.array([0.6, 0.4])
        ),
    )
    assert exact_privacy(losing, RANDOMIZED_RESPONSE.claims[0]).epsilon == 1.5


def test_a_mechanism_without_a_law_has_no_exact_verdict():
    assert exact_privacy(replace(choosing(1.0), law=None), CLAIM) is None


def test_given_pairs_are_checked_too():
    far = Pair([0] * 30, [0] * 29 + [1])
    alone = replace(choosing(1.0), databases=None)
    assert exact_privacy(alone, CLAIM) is None
    found = exact_privacy(alone, CLAIM, pairs=(far,))
    assert found.scope == "1 hand-made pairs"


@pytest.mark.long
def test_a_law_of_another_mechanism_is_an_error_of_the_harness():
    wrong = replace(choosing(1.0), law=partial(law_of, sensitivity=0.1))
    with pytest.raises(HarnessError, match="contradict the law it states"):
        check(Subject(claim=CLAIM, mechanism=wrong), trials=20_000)


@pytest.mark.long
@pytest.mark.parametrize(("sensitivity", "verdict"), [(1.0, "proved"), (0.5, "refuted")])
def test_exact_and_sampled_side_by_side(sensitivity, verdict):
    subject = Subject(claim=CLAIM, mechanism=choosing(sensitivity))
    result = check(subject, trials=20_000)
    assert result.verdict.value == verdict
    assert result.refuted == (result.finding.sampled is Verdict.REFUTED) == (sensitivity < 1)
    assert result.finding.measured.low <= result.finding.exact
    assert result.finding.error == 1e-3


def bits(database, rng, *, size=None):
    return rng.random(size) < (0.2, exp(1) * 0.2 + 0.01)[database]


def log_of_bits(database, outputs):
    chance = (0.2, exp(1) * 0.2 + 0.01)[database]
    return np.where(outputs, log(chance), log(1 - chance))


BITS = Mechanism(
    name="bits",
    run=bits,
    databases=Rows(row=Choices(values=(0, 1))),
    log_probability=log_of_bits,
)


@pytest.mark.long
@pytest.mark.parametrize(
    ("epsilon", "delta", "refuted"),
    [(1.0, 0.0, True), (1.02, 0.0, False), (1.0, 0.01, False), (1.0, 0.005, True)],
)
def test_a_density_refutes_at_drawn_outputs(epsilon, delta, refuted):
    claim = replace(CLAIM, epsilon=epsilon, delta=delta)
    from dpwitness.mechanisms.model import Value

    mechanism = replace(BITS, databases=Value(row=Choices(values=(0, 1))))
    found = drawn_losses(mechanism, claim, alpha=1e-3, draws=100_000, seed=0)
    assert found.refuted is refuted
    assert found.epsilon == pytest.approx(log(exp(1) + 0.05), abs=1e-9)


def test_the_pairs_a_claim_names_are_judged_too():
    far = [0] * 9 + [1] * 9 + [2] * 9
    claim = replace(CLAIM, examples=((far, [*far[:-1], 0]),))
    plain, named = (exact_privacy(choosing(1.0), one) for one in (CLAIM, claim))
    assert "hand-made" in named.scope
    assert named.scope != plain.scope
    # What a claim is does not depend on where it is best tested.
    assert claim == CLAIM
    assert hash(claim) == hash(CLAIM)


@pytest.mark.long
def test_draws_are_made_on_the_pair_of_the_most_telling_event():
    # The loss of one row more grows with the rows before it, while the event gets rarer:
    # the pair of the largest loss is one that no draws could show.
    found = exact_privacy(choosing(0.5), CLAIM)

    def beyond(pair):
        p, q = (
            np.exp(law_of(side, 0.5).log_probabilities) for side in (pair.database, pair.neighbour)
        )
        return float(np.maximum(p - np.e * q, 0).sum())

    assert found.telling != found.pair
    assert beyond(found.telling) > 10 * beyond(found.pair)
    statement = Subject(claim=CLAIM, mechanism=choosing(0.5))
    assert check(statement, trials=20_000).finding.sampled is Verdict.REFUTED


def test_the_telling_pair_of_a_true_claim_is_the_one_of_the_largest_loss_of_laplace_noise():
    # Of sums of several numbers with Laplace noise, the pair that moves furthest tells most.
    claim = PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE, identifier="sum")
    mechanism = Mechanism(
        name="sum",
        run=lambda rows, rng: sum(rows) + rng.laplace(scale=3.0),
        databases=Rows(row=Choices(values=(1, 2, 3))),
        law=lambda rows: LaplaceLaw(centres=np.array([float(sum(rows))]), scale=3.0),
        claims=(claim,),
    )
    found = exact_privacy(mechanism, claim)
    assert found.verdict is Verdict.PROVED
    assert abs(sum(found.telling.database) - sum(found.telling.neighbour)) == 3
