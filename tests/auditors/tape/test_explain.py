"""Which lines are named: the changed one or its neighbour for most faults, none for sound code.

Each fault is one line with a comment `# fault` on it; the function is explained on a pair that
shows it, as an audit that refuted its claim does.
"""

import inspect
import json
import math
import random
import secrets

import numpy as np
import pytest

from dpwitness import Mechanism, PrivacyClaim, audit
from dpwitness.auditors.evidence.conversion import record_of, revived
from dpwitness.auditors.tape.explain import explain
from dpwitness.mechanisms.model import Relation
from dpwitness.reports.faces.as_html import render as page
from dpwitness.reports.faces.as_text import render
from dpwitness.reports.record.evidence import document

ONE_MORE = [1, 1, 0], [1, 1]
CHANGED = [1, 0, 1], [0, 1, 1]


def too_little_noise(d, rng):
    total = sum(d)
    noise = rng.laplace(0, 0.2)  # fault
    return total + noise


def scale_upside_down(d, rng, size=1):
    epsilon = 0.25
    noise = rng.laplace(0, epsilon, size)  # fault
    return len(d) + noise


def no_clipping(d, rng):
    values = [9 * x for x in d]
    total = sum(values)  # fault
    return total + rng.laplace(0, 1.0)


def divided_by_the_true_count(d, rng):
    total = sum(d) + rng.laplace(0, 2.0)
    return total / len(d)  # fault


def spent_twice(d, rng):
    first = sum(d) + rng.laplace(0, 1)
    second = sum(d) + rng.laplace(0, 1)  # fault
    return first, second


def _normalised(logits):
    logits = logits - logits.max()
    return logits - np.log(np.exp(logits).sum())


def _drawn(rng, logits):
    steps = np.cumsum(np.exp(_normalised(logits)))
    return int(np.searchsorted(steps, rng.random() * steps[-1]))


def too_sharp_for_a_helper(d, rng):
    return _drawn(rng, 3.0 * np.array(d, float))  # fault


def too_few_others(d, rng, size=None):
    truth = int(sum(d) > 1)
    others = 6  # fault
    shape = () if size is None else (size,)
    honest = rng.random(shape) > 1 / (others + 1)
    return np.where(honest, truth, 1 - truth)


def one_noise_for_all(d, rng):
    noise = rng.laplace(0, 1)  # fault
    return [x + noise for x in d]


def one_noise_a_row(d, rng, size=1):
    noise = rng.laplace(0, 1, (size, 1))  # fault
    return np.asarray(d) + noise


def noise_times_zero(d, rng):
    noise = rng.laplace(0, 1)
    return sum(d) + 0 * noise  # fault


def scale_zero(d, rng):
    scale = 1 // 2
    return sum(d) + rng.laplace(0, scale)  # fault


def raw_beside(d, rng):
    count = len(d) + rng.laplace(0, 1)
    total = sum(d)  # fault
    return count, total


def raw_in_a_dict(d, rng):
    noisy = sum(d) + rng.laplace(0, 1)
    return {"sum": noisy, "largest": max(d), "n": len(d)}  # fault


def bins_that_exist(d, rng):
    found = {}
    for value in sorted(set(d)):
        found[value] = d.count(value) + rng.laplace(0, 1)  # fault
    return found


def scale_of_the_data(d, rng):
    spread = 0.1 + max(d) - min(d)
    noise = rng.laplace(0, spread)  # fault
    return sum(d) + noise


def not_a_number(d, rng):
    mean = np.nan if 0 not in d else np.mean(d)
    return mean + rng.laplace(0, 1)  # fault


def raises_for_some(d, rng):
    if 0 not in d:
        raise ValueError("no zero")  # fault
    return sum(d) + rng.laplace()


def noisy_max(d, rng, size=1):
    noise = rng.laplace(0, 0.1, (size, len(d)))  # fault
    return np.argmax(np.asarray(d) + noise, axis=1)


def noisy_max_of_gumbels(d, rng):
    noisy = [5 * x + rng.gumbel() for x in d]  # fault
    return int(np.argmax(noisy))


def too_sharp_a_choice(d, rng):
    weights = np.exp(5 * np.asarray(d, float))
    chosen = rng.choice(len(d), p=weights / weights.sum())  # fault
    return int(chosen)


def too_honest(d, rng):
    answers = []
    for x in d:
        answers.append(x if rng.random() < 0.99 else 1 - x)  # fault
    return answers


def chance_of_the_data(d, rng):
    chance = (1 + sum(d)) / 10
    return int(rng.random() < chance**3)  # fault


def global_noise(d, rng):
    total = sum(d)
    noise = np.random.laplace(0, 0.1)  # fault  # noqa: NPY002
    return total + noise


def noise_of_random(d, rng):
    return sum(d) + random.gauss(0, 0.1)  # fault


def helper(value, scale, rng):
    return value + rng.laplace(0, scale)


def helper_called_with_little(d, rng):
    count = helper(len(d), 4.0, rng)
    total = helper(sum(d), 0.1, rng)  # fault
    return count, total


def threshold_without_noise(d, rng, size=1):
    above = np.asarray(d) * 1.0 >= 0.5  # fault
    return np.broadcast_to(above, (size, len(d)))


def too_few_geometric(d, rng):
    noise = rng.geometric(0.99) - rng.geometric(0.99)  # fault
    return sum(d) + noise


def seed_from_the_data(d, rng):
    own = np.random.default_rng(sum(d))  # fault
    return sum(d) + own.laplace(0, 1)


def noise_kept_to_itself(d, rng):
    coins = rng.integers(2, size=3)
    kept = {"coins": coins}
    share = d.count(0) / len(d)  # fault
    return share if kept else 0


def sensitivity_of_the_size(d, rng):
    known = [x for x in d if x >= 0]
    sensitivity = 1 / len(d)  # fault
    budget = 1.0 / 1
    scale = sensitivity / budget
    mean = sum(known) / len(known)
    return mean + rng.laplace(0, scale)


class Query:
    def __init__(self, scale):
        self.scale = scale

    def noisy(self, total, rng):
        return rng.laplace(total, self.scale)


def scale_handed_on(d, rng):
    some = 1 / 4
    return Query(some / 2).noisy(float(len(d)), rng)  # fault


def rarely_a_raw_value(d, rng):
    total = sum(d) + rng.laplace(0, 1)
    shown = None
    if d and rng.random() < 0.05:  # fault
        shown = d[0]
    return round(total), shown


FAULTS = [
    (too_little_noise, ([1, 1], [1])), (scale_upside_down, ONE_MORE), (no_clipping, ([1, 1], [1])),
    (divided_by_the_true_count, ONE_MORE), (spent_twice, ([1, 1], [1, 0])),
    (one_noise_for_all, CHANGED), (one_noise_a_row, CHANGED), (noise_times_zero, ([1, 1], [1])),
    (scale_zero, ([1], [])), (raw_beside, ([1, 1], [1])), (raw_in_a_dict, ONE_MORE),
    (bins_that_exist, ONE_MORE), (scale_of_the_data, ONE_MORE), (not_a_number, ONE_MORE),
    (raises_for_some, ONE_MORE), (noisy_max, CHANGED), (noisy_max_of_gumbels, CHANGED),
    (too_sharp_a_choice, CHANGED), (too_honest, CHANGED), (chance_of_the_data, ([1], [1, 1])),
    (global_noise, ([1], [])), (noise_of_random, ([1], [])), (helper_called_with_little, ([1], [])),
    (threshold_without_noise, CHANGED), (too_few_geometric, ([1], [])),
    (seed_from_the_data, ([1], [])), (noise_kept_to_itself, ([0, 1], [1])),
    (sensitivity_of_the_size, ([0, -1, -1, -1], [1, -1, -1, -1])),
    (scale_handed_on, ([1], [])), (rarely_a_raw_value, ([1, 0], [0])),
    (too_sharp_for_a_helper, CHANGED), (too_few_others, ([1, 1], [1])),
]  # fmt: skip


def fault_line(run):
    lines, first = inspect.getsourcelines(run)
    return next(first + k for k, line in enumerate(lines) if "# fault" in line)


def told(run, pair):
    return explain(run, *pair, 1.0, refuted=True)


@pytest.mark.long
def test_the_changed_line_or_its_neighbour_is_named_in_four_of_five():
    near = []
    for run, pair in FAULTS:
        cause, line = told(run, pair), fault_line(run)
        assert cause.accused, run.__name__
        assert len(cause.lines) <= 4
        near.append(any(abs(one.line - line) <= 1 for one in cause.lines))
    assert len(FAULTS) >= 25
    assert np.mean(near) >= 0.9, [run.__name__ for (run, _), ok in zip(FAULTS, near, strict=True)
                                  if not ok]  # fmt: skip


@pytest.mark.parametrize(
    ("run", "pair", "reason"),
    [
        (divided_by_the_true_count, ONE_MORE, "multiplies the noise depends on the data"),
        (bins_that_exist, ONE_MORE, "under one database only"),
        (spent_twice, ([1, 1], [1, 0]), "privacy loss is up to 1, and 1 is claimed"),
        (not_a_number, ONE_MORE, "NaN under one database only"),
        (scale_zero, ([1], []), "noise of scale 0"),
        (no_clipping, ([1, 1], [1]), "privacy loss is up to"),
        (raw_beside, ([1, 1], [1]), "beside the noise"),
    ],
)
def test_seven_kinds_of_fault_have_their_own_words(run, pair, reason):
    """The kinds that dp-recorder tells apart (Wirth et al., PETS 2026)."""
    cause = told(run, pair)
    assert any(reason in one.reason for one in cause.lines), cause


def drawn(rng):
    return rng.laplace(scale=1.0)


def handed(total, noise):
    return total + noise


def draws_far_from_the_data(d, rng):
    return handed(3 * sum(d), drawn(rng))


def test_the_line_where_data_meet_the_noise_stands_beside_the_one_that_draws():
    """The draw is made in a function that knows no data; another adds them."""
    lines, first = inspect.getsourcelines(handed)
    meets = next(first + k for k, line in enumerate(lines) if "+" in line)
    found = told(draws_far_from_the_data, ([1, 1], [1]))
    assert meets in [one.line for one in found.lines]


@pytest.mark.parametrize(
    ("run", "pair"), [(too_sharp_for_a_helper, CHANGED), (too_few_others, ([1, 1], [1]))]
)
def test_a_name_that_two_functions_share_hides_no_line(run, pair):
    assert fault_line(run) in [line.line for line in told(run, pair).lines]


def test_a_line_that_keeps_the_claim_stands_behind_the_draw_that_decides_among_data():
    """The noise of the total loses no more than is claimed, and the text is given away."""
    for pair in (([1, 0], [0]), ([0], [1, 0])):
        found = told(rarely_a_raw_value, pair)
        assert abs(found.lines[0].line - fault_line(rarely_a_raw_value)) <= 1, found


def test_a_selection_is_told_with_the_conditional_mean_beside_the_sum():
    cause = told(noisy_max, CHANGED)
    assert "add up to at most 20" in cause.summary
    assert "the output that shows most of it has a loss of about" in cause.summary


# Sound mechanisms: at their claim nothing is accused.


def smooth(d, rng):
    """A scale of the data that is public: the length of the list, which no neighbour changes."""
    return sum(d) + rng.laplace(0, 1 + len(d))


def sparse(d, rng, size=1):
    bar = 1 + rng.laplace(0, 2, (size, 1))
    above = np.asarray(d) + rng.laplace(0, 4, (size, len(d))) >= bar
    return np.where(above.any(axis=1), np.argmax(above, axis=1), -1)


def response(d, rng):
    return [x if rng.random() < 0.7 else 1 - x for x in d]


def by_inverse(d, rng):
    u = rng.random() - 0.5
    return sum(d) - np.sign(u) * np.log(1 - 2 * abs(u))


def stable_bins(d, rng):
    found = {}
    for value in sorted(set(d)):
        noisy = d.count(value) + rng.laplace(0, 1)
        if noisy > 20:
            found[value] = noisy
    return found


def exact_sampler(d, rng):
    count = 0
    while rng.random() < np.exp(-1):
        count += 1
    sign = 1 if rng.random() < 0.5 else -1
    return len(d) + sign * count


def clipped(d, rng):
    return float(np.clip(sum(d) + rng.laplace(0, 1), 0, 3))


def rounded(d, rng):
    return round(sum(d) + rng.laplace(0, 1))


def in_two_parts(d, rng):
    return sum(d) + rng.laplace(0, 2), max(d) + rng.laplace(0, 2)


def one_sided_max(d, rng):
    return int(np.argmax([x + rng.exponential(2) for x in d]))


def drawn_elsewhere(d, rng):
    return sum(d) + np.random.Generator(np.random.PCG64()).laplace(0, 1)


def half_drawn_elsewhere(d, rng):
    return rng.laplace(0, 2) + sum(d), sum(d) + secrets.SystemRandom().gauss(0, 50)


@pytest.mark.parametrize("run", [drawn_elsewhere, half_drawn_elsewhere])
@pytest.mark.parametrize("refuted", [False, True])
def test_randomness_from_elsewhere_is_no_cause(run, refuted):
    cause = explain(run, *ONE_MORE, 1.0, refuted=refuted)
    assert not cause.accused
    assert not cause.lines
    assert "randomness from elsewhere" in cause.summary


def noise_as_plain_number(d, rng):
    """float() and math.exp leave numbers that the tape cannot follow; they cover what is added."""
    noise = float(rng.laplace(0, 1))
    return sum(d) + noise


def noise_through_the_math_module(d, rng):
    noise = math.log(rng.exponential()) - math.log(rng.exponential())  # logistic
    return sum(d) + noise


def noise_by_its_text(d, rng):
    return sum(d) + float(f"{rng.laplace(0, 1)!r}")


SOUND = [
    (noise_as_plain_number, ONE_MORE), (noise_through_the_math_module, ([1], [])),
    (noise_by_its_text, ([1], [])),
    (smooth, CHANGED), (sparse, CHANGED), (response, ([1, 0], [1, 1])), (by_inverse, ([1], [])),
    (stable_bins, ONE_MORE), (exact_sampler, ([1], [])), (clipped, ([1], [])), (rounded, ([1], [])),
    (in_two_parts, ([1], [0])), (one_sided_max, ([1, 0], [0, 0])),
]  # fmt: skip


@pytest.mark.parametrize(("run", "pair"), SOUND)
def test_sound_code_is_not_accused(run, pair):
    cause = explain(run, *pair, 1.0)
    assert not cause.accused
    assert cause.lines or cause.summary


@pytest.mark.parametrize(
    "name",
    ["laplace", "geometric", "report-noisy-max", "exponential", "permute-and-flip",
     "above-threshold", "randomized-response", "drill-down", "vector-sum", "interior-point"],
)  # fmt: skip
def test_the_catalogue_is_not_accused(name):
    from dpwitness.auditors.databases.neighbours import pair_source
    from dpwitness.mechanisms.catalogue import CATALOGUE

    mechanism = CATALOGUE.entry(name)
    claim = next(one for one in mechanism.claims if isinstance(one, PrivacyClaim))
    for pair in pair_source(mechanism.databases, claim.relation, claim.distance, 0).templates[:1]:
        cause = explain(mechanism.run, pair.database, pair.neighbour, claim.epsilon)
        assert not cause.accused, cause


# In an audit.


def audited(run, **options):
    return audit(run, epsilon=1.0, relation=Relation.ADD_REMOVE, pair=([1, 1], [1]), trials=4000,
                 **options)  # fmt: skip


@pytest.mark.long
def test_an_audit_tells_the_cause_if_asked_and_in_every_face():
    result = audited(too_little_noise, explain=True)
    line = fault_line(too_little_noise)
    assert result.refuted
    assert result.cause is not None
    assert [one.line for one in result.cause.lines] == [line, line - 1, line + 1]
    data = document([result], replay="")
    assert data["results"][0]["cause"]["lines"][0]["line"] == line
    assert revived(json.loads(json.dumps(record_of(result)))).cause == result.cause
    assert f"test_explain.py:{line}" in render(result, width=100)
    shown = page([result], data)
    assert "<h3>Cause</h3>" in shown
    assert "<mark>noise = rng.laplace(0, 0.2)" in shown


@pytest.mark.long
def test_an_audit_that_is_not_asked_says_nothing():
    assert audited(too_little_noise).cause is None
    assert audited(too_little_noise, explain=None).cause is not None
    assert audited(in_two_parts, explain=None).cause is None
    sound = audited(in_two_parts, explain=True)
    assert not sound.refuted
    assert sound.cause is not None
    assert not sound.cause.accused
    assert "noise" in render(sound)


def test_a_mechanism_that_cannot_be_followed_keeps_its_verdict():
    def stubborn(d, rng):
        if type(rng) is not np.random.Generator:
            raise TypeError("no stranger")
        return len(d) + rng.laplace(0, 0.1)

    result = audited(stubborn, explain=True)
    assert result.refuted
    assert result.cause is not None


@pytest.mark.long
def test_the_same_seed_names_the_same_lines():
    assert audited(noisy_max, explain=True).cause == audited(noisy_max, explain=True).cause


def test_two_claims_and_a_catalogue_entry():
    mechanism = Mechanism(name="two", run=too_little_noise, claims=(
        PrivacyClaim(epsilon=1.0, relation=Relation.ADD_REMOVE),))  # fmt: skip
    assert audit(mechanism, pair=([1], []), trials=2000, explain=True).cause is not None


@pytest.mark.long
@pytest.mark.parametrize(
    ("claim", "words"),
    [({"mu": 1.0}, "and mu 1 is claimed"), ({"epsilon": 1.0}, "and 1 is claimed"),
     ({"epsilon": 1.0, "delta": 1e-3}, "and epsilon 1 at delta 0.001 is claimed")],
)  # fmt: skip
def test_a_cause_is_told_beside_what_was_claimed(claim, words):
    found = audit(
        lambda database, rng: len(database) + rng.normal(scale=0.3), **claim,
        relation="add-remove", pair=([], [1]), trials=20_000, explain=True,
    )  # fmt: skip
    assert found.refuted
    assert any(words in line.reason for line in found.cause.lines)
