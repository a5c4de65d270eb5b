"""Whatever a function of a claim returns or raises, nothing but one number an output is counted."""

from dataclasses import replace

import numpy as np
import pytest

from dpwitness.auditors.claims.check import check
from dpwitness.auditors.errors import InvalidArgument
from dpwitness.auditors.results.results import Verdict
from dpwitness.mechanisms.model import (
    ExpectationClaim,
    GrowthClaim,
    IdentityClaim,
    Interval,
    InvariantClaim,
    Mechanism,
    Parameter,
    Subject,
    Theorem,
    ThresholdClaim,
    UtilityClaim,
)


def four(database, rng, *, size=None):
    return rng.random((4,) if size is None else (size, 4))


MECHANISM = Mechanism(name="four", run=four, trust_rows=True)


def claims_of(loss):
    """The same loss in a claim of every kind that has one: it lies in [0, 1], its mean is 0.8."""
    return {
        "utility": UtilityClaim(loss=loss, bound=lambda beta: 1.0, databases=([],)),
        "expectation": ExpectationClaim(quantity=loss, bound=0.9, databases=([],), high=1.0),
        "threshold": ThresholdClaim(
            needed=2, level=1.0, beta=0.1, loss=loss, trust_rows=True, instance=lambda n: (four, [])
        ),
        "growth": GrowthClaim(
            points=(1.0, 2.0), quantity=lambda x, database, output: loss(database, output),
            instance=lambda x: (four, []), bound=lambda x: 1.0, high=lambda x: 1.0,
            grows="it", over="x", trust_rows=True,
        ),
    }  # fmt: skip


def judged(claim):
    theorem = Theorem(
        identifier="MINE", statement="s", reference="r",
        subject=lambda: Subject(claim=claim, mechanism=MECHANISM),
    )  # fmt: skip
    return check(theorem, trials=300, alpha=0.01)


def right(database, output):
    return output.max(axis=-1)


WRONG = {
    "one number in all": (lambda database, output: output.max(), "shape ()"),
    "a number for each entry": (lambda database, output: output, ", 4)"),
    "a number for each place": (lambda database, output: output.max(axis=0), "(4,)"),
    "a number of all draws": (
        lambda database, output: np.full(len(output), output.mean()), "the same output alone"),
    "a number of the draws before": (
        lambda database, output: np.maximum.accumulate(output.max(axis=-1)),
        "the same output alone"),
    "a column": (lambda database, output: output.max(axis=-1, keepdims=True), ", 1)"),
    "nothing": (lambda database, output: None, "None"),
    "text": (lambda database, output: "0.5", "0.5"),
    "NaN": (lambda database, output: output.max(axis=-1) * np.nan, "NaN for the output"),
    "an error": (lambda database, output: output / "1", "raised"),
    "a comparison": (lambda database, output: max(0, output), "must return as many numbers"),
}  # fmt: skip


@pytest.mark.parametrize("kind", claims_of(right))
def test_one_number_for_each_output_is_judged(kind):
    assert judged(claims_of(right)[kind]).verdict is Verdict.NOT_REFUTED


@pytest.mark.parametrize("fault", WRONG)
@pytest.mark.parametrize("kind", claims_of(right))
def test_anything_else_is_named_and_never_counted(kind, fault):
    loss, said = WRONG[fault]
    with pytest.raises(InvalidArgument) as error:
        judged(claims_of(loss)[kind])
    sentence = str(error.value)
    assert sentence.startswith("MINE: ")
    assert "loss (" in sentence or "quantity (" in sentence
    assert "test_parts.py:" in sentence
    assert said in sentence


UTILITY = claims_of(right)["utility"]
INVARIANT = InvariantClaim(cases=Interval(low=0, high=1), margin=lambda case: 1.0)


@pytest.mark.parametrize(
    ("claim", "part"),
    [
        (replace(UTILITY, bound=lambda beta: None), "bound"),
        (replace(UTILITY, bound=lambda beta: np.ones(2)), "bound"),
        (replace(UTILITY, bound=lambda beta: 0 * np.inf), "bound"),
        (replace(UTILITY, bound=lambda beta: beta / 0), "bound"),
        (replace(UTILITY, levels=(0.5, 2)), "levels"),
        (replace(UTILITY, levels=()), "levels"),
        (replace(INVARIANT, margin=lambda case: None), "margin"),
        (replace(INVARIANT, margin=lambda case: [][1]), "margin"),
        (replace(claims_of(right)["threshold"], instance=lambda n: four), "instance"),
        (replace(claims_of(right)["expectation"], databases=()), "databases"),
        (replace(claims_of(right)["growth"], high=lambda x: "1"), "high"),
        (IdentityClaim(compute=lambda: None, stated=1.0), "compute"),
    ],
)
def test_every_part_of_a_claim_is_named(claim, part):
    with pytest.raises(InvalidArgument, match=f"MINE: {part}"):
        judged(claim)


@pytest.mark.parametrize(
    "subject", [lambda: None, lambda epsilon: UTILITY, lambda: 1 / 0, lambda: MECHANISM]
)
def test_a_subject_that_gives_no_claim_is_named(subject):
    theorem = Theorem(identifier="MINE", statement="s", reference="r", subject=subject)
    with pytest.raises(InvalidArgument, match=r"MINE: subject \(test_parts.py:\d+\)"):
        check(theorem, trials=100)


@pytest.mark.parametrize("value", [[1, 2], "1", None, True])
def test_a_parameter_is_one_number(value):
    theorem = Theorem(
        identifier="MINE", statement="s", reference="r", subject=lambda epsilon: UTILITY,
        parameters={"epsilon": Parameter(default=1, within=Interval(low=0, high=2), meaning="")},
    )  # fmt: skip
    with pytest.raises(InvalidArgument, match="MINE: the parameter epsilon must be one number"):
        check(theorem, parameters={"epsilon": value})


def test_ends_and_defaults_lie_in_order():
    with pytest.raises(ValueError, match="low=3"):
        Interval(low=3, high=1)
    outside = Parameter(default=12, within=Interval(low=0, high=2), meaning="")
    for fault in ({"parameters": {"epsilon": outside}}, {"parameters": {"epsilon": 1}}):
        with pytest.raises(ValueError, match=r"MINE: the .*parameter epsilon"):
            Theorem(identifier="MINE", statement="", reference="", subject=lambda: None, **fault)
    with pytest.raises(ValueError, match="subject must be a function"):
        Theorem(identifier="MINE", statement="", reference="", subject=3)


def test_nan_of_an_output_that_is_none_is_told():
    def often(database, rng, *, size=None):
        return np.where(rng.random((4,) if size is None else (size, 4)) < 0.01, np.nan, 0.0)

    mechanism = Mechanism(name="often", run=often, trust_rows=True)
    found = check(Subject(claim=UTILITY, mechanism=mechanism), trials=300, alpha=1e-6).finding
    assert "loss is no number (NaN) at" in found.note
    assert found.measured.value > 0
