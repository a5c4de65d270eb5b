"""Laws enumerated from code: those of the catalogue, of numpy's methods, of uniforms in order."""

import math
import os
import random
from collections import Counter
from fractions import Fraction
from random import random as bound_early

import numpy as np
import pytest

from dpwitness.auditors.databases.neighbours import pair_source
from dpwitness.auditors.outputs.encoding import told
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.tape.enumeration import Laws, Limits, enumerate_laws, first_path
from dpwitness.auditors.workers import Door
from dpwitness.auditors.workers.door import accepts_size, pickled
from dpwitness.mechanisms import catalogue
from dpwitness.mechanisms.model import FiniteLaw, NotListable, PrivacyClaim, Relation

HALF = Fraction(1, 2)


def laws(run, *databases, runs=20_000, exceptions="error"):
    encoded = [pickled(database) for database in databases or (0,)]
    limits = Limits(runs, seconds=600.0)
    sized = accepts_size(run) and exceptions == "error"
    return Door(run).fresh(enumerate_laws, (), encoded, sized, exceptions, (len(encoded),), limits)


def law(run, database=0, **asked):
    """Probabilities of one database by output."""
    found = laws(run, database, **asked)
    assert isinstance(found, Laws), found
    return {
        row if isinstance(row, (int, float)) else told(row): chance
        for row, chance in zip(found.outputs.rows(), found.chances[0], strict=True)
    }


LONG = "advanced-composition-no-linear-term"
"""A binomial of a thousand trials: its fractions have ten thousands of digits."""


def stating():
    """Mechanisms that state the law of their output."""
    every = [*catalogue.CATALOGUE, *(one.mechanism for one in catalogue.NEGATIVE_CONTROLS)]
    return [one for one in every if one.law is not None]


def compare(mechanism):
    """Whether it states a finite law and could be enumerated; the two are equal then."""
    claims = [one for one in mechanism.claims if isinstance(one, PrivacyClaim)]
    relation = claims[0].relation if claims else Relation.REPLACE_ONE
    pair = pair_source(mechanism.databases, relation, 1, 0).first(0)
    sized = accepts_size(mechanism.run)
    reason = Door(mechanism.run).fresh(first_path, [pair.database], sized, "error")
    if reason:
        # Noise from a continuous law: said, and never silently wrong.
        assert "no finite draw" in reason, (mechanism.name, reason)
        return False
    try:
        known = [mechanism.law(one) for one in (pair.database, pair.neighbour)]
    except NotListable:
        return False
    if not isinstance(known[0], FiniteLaw):
        return False
    found = laws(mechanism.run, pair.database, pair.neighbour)
    assert isinstance(found, Laws), (mechanism.name, found)
    for side, one in enumerate(known):
        both = Outputs.concatenate(
            [found.outputs, Outputs.of(one.outcomes, len(one.outcomes))]
        ).rows()
        keys = list(map(told, both))
        mine = dict(zip(keys, map(float, found.chances[side]), strict=False))
        theirs = Counter()
        for key, log in zip(keys[len(found.outputs) :], one.log_probabilities, strict=True):
            theirs[key] += math.exp(log)
        for key in {*mine, *theirs}:
            assert mine.get(key, 0.0) == pytest.approx(theirs[key], abs=3e-14), mechanism.name
    return True


@pytest.mark.long
def test_every_finite_law_of_the_catalogue_is_the_enumerated_one():
    enumerated = [one.name for one in stating() if one.name != LONG and compare(one)]
    # What draws Gumbel or Laplace noise states a finite law too, and is not enumerable.
    assert len(enumerated) == 15, enumerated


@pytest.mark.slow
def test_so_is_that_of_a_binomial_of_a_thousand_trials():
    (long,) = (one for one in stating() if one.name == LONG)
    assert compare(long)


ITEMS = ["a", "b", "c"]
WEIGHTS = [0.5, 0.3, 0.2]
DISCRETE = {
    "random": lambda d, rng: rng.random() < 0.3,
    "uniform": lambda d, rng: int(rng.uniform(-1, 1) > 0.5),
    "array": lambda d, rng: (rng.random((2, 2)) < [[0.1, 0.5], [0.7, 0.9]]).tolist(),
    "integers": lambda d, rng: rng.integers(2, 5),
    "integers array": lambda d, rng: rng.integers(1, 2, size=3, endpoint=True),
    "choice": lambda d, rng: rng.choice(ITEMS, p=WEIGHTS),
    "choice of numbers": lambda d, rng: rng.choice(4),
    "choice with": lambda d, rng: tuple(rng.choice(3, size=2)),
    "choice without": lambda d, rng: rng.choice(ITEMS, size=2, replace=False, p=WEIGHTS).tolist(),
    "rows": lambda d, rng: rng.choice([[1, 2], [3, 4]], axis=1, size=2, replace=False),
    "permutation": lambda d, rng: rng.permutation(3),
    "permuted": lambda d, rng: rng.permuted([[1, 2], [3, 4]], axis=1),
    "binomial": lambda d, rng: rng.binomial(4, 0.3),
    "binomials": lambda d, rng: rng.binomial([1, 2], [0.3, 0.6]),
    "multinomial": lambda d, rng: rng.multinomial(3, WEIGHTS),
    "hypergeometric": lambda d, rng: rng.hypergeometric(3, 2, 2),
    "geometric": lambda d, rng: min(rng.geometric(0.6), 5),
    "spawn": lambda d, rng: rng.spawn(2)[1].integers(3),
    "rounding": lambda d, rng: int(np.floor(3 * rng.random())) + round(2 * rng.random()),
    "table": lambda d, rng: int(np.searchsorted(np.cumsum(WEIGHTS), rng.random())),
    "order": lambda d, rng: np.argsort(rng.random(3)).tolist(),
    "largest": lambda d, rng: int(np.argmax(rng.random(4))),
    "numpy global": lambda d, rng: np.random.randint(3) + (np.random.rand() < 0.25),  # noqa: NPY002
    "random module": lambda d, rng: random.choices("xyz", [3, 2, 1])[0] + random.choice("uv"),
    "random sample": lambda d, rng: [*random.sample(range(4), 2), random.randrange(0, 4, 2)],
}


def shuffled(database, rng):
    items = [1, 2, 3]
    rng.shuffle(items)
    return items


@pytest.mark.parametrize("name", [*DISCRETE, "shuffle"])
def test_the_law_is_that_of_numpy_s_draws(name):
    run = DISCRETE.get(name, shuffled)
    found = laws(run, 0)
    assert isinstance(found, Laws), found
    assert sum(found.chances[0]) + found.tails[0] == 1
    rng = np.random.default_rng(7)
    np.random.seed(7)  # noqa: NPY002
    random.seed(7)
    draws = 4000
    drawn = [run(0, rng) for _ in range(draws)]
    # Of the same Python types, too: code that looks at them must find what it would.
    both = Outputs.concatenate([found.outputs, Outputs.of_list(drawn)]).rows()
    counts = Counter(map(told, both[len(found.outputs) :]))
    chances = dict(zip(map(told, both), map(float, found.chances[0]), strict=False))
    assert counts.keys() <= chances.keys()
    for key, chance in chances.items():
        # Six standard deviations and one hit: less than one chance in a million a comparison.
        slack = 6 * math.sqrt(chance * (1 - chance) / draws) + 1 / draws
        assert counts[key] / draws == pytest.approx(chance, abs=slack), key


@pytest.mark.parametrize(
    ("event", "chance"),
    [
        (lambda u: u[0] < u[1], HALF),
        (lambda u: u[0] < u[1] and u[1] < 0.5, Fraction(1, 8)),
        (lambda u: u[0] < 0.5 and u[0] < u[1], Fraction(3, 8)),
        (lambda u: u[0] < u[1] < u[2] < u[3], Fraction(1, 24)),
        (lambda u: u[0] < u[1] and u[2] < u[1], Fraction(1, 3)),
        (lambda u: max(u[0], u[1]) < 0.25, Fraction(1, 16)),
        (lambda u: u[0] < u[1] and u[1] < 0.75 and u[0] > 0.25, Fraction(1, 8)),
        (lambda u: 1 - u[0] < 0.25 or 2 * u[1] + 1 > 2.5, Fraction(7, 16)),
        (lambda u: abs(u[0] - 0.5) < 0.125, Fraction(1, 4)),
        (lambda u: (4 * u[0]) // 1 == 3 and (4 * u[1]) % 1 < 0.5, Fraction(1, 8)),
        (lambda u: u[0] == u[1] or u[0] != u[0], Fraction(0)),
        (lambda u: u[0] < math.inf and not u[0] < math.nan, Fraction(1)),
    ],
)
def test_uniforms_keep_what_is_known_of_them(event, chance):
    found = law(lambda d, rng: int(bool(event(rng.random(4)))))
    assert found.get(1, 0) == chance


def test_a_sort_of_uniforms_is_any_order():
    found = law(lambda d, rng: [int(i) for i in np.argsort(rng.random(4))])
    assert len(found) == 24
    assert {*found.values()} == {Fraction(1, 24)}


REFUSED = {
    "laplace is no finite draw": lambda d, rng: d + rng.laplace(),
    "numpy.random.normal is no finite draw": lambda d, rng: np.random.normal(),  # noqa: NPY002
    "random.gauss is no finite draw": lambda d, rng: random.gauss(0, 1),
    "outcomes": lambda d, rng: rng.integers(2**63),
    "value of a uniform": lambda d, rng: rng.random(),
    "uses the value": lambda d, rng: -math.log(rng.random()) < 1,
    "it uses the value": lambda d, rng: np.log(rng.random(3)).max() < 1,
    "adds or multiplies": lambda d, rng: rng.random(3).sum() < 1,
    "different ranges": lambda d, rng: rng.random() < rng.uniform(0, 2),
    "bits of the generator": lambda d, rng: rng.bit_generator.random_raw(),
    "seed of its own": lambda d, rng: np.random.default_rng().random() < 0.5,
    "not followed": lambda d, rng: bound_early() < 0.5,
    "led elsewhere": lambda d, rng: os.urandom(8),
    "value to compare": lambda d, rng: object(),
    "iterator": lambda d, rng: zip([1], [2], strict=True),
    "raised ZeroDivisionError": lambda d, rng: 1 // (int(rng.integers(3)) - 1),
    "runs would not do": lambda d, rng: rng.integers(2, size=40).tolist(),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_is_not_enumerable_is_refused_in_words(words):
    found = laws(REFUSED[words], 0)
    assert isinstance(found, str)
    assert words in found


def remembers(database, rng, calls=[]):  # noqa: B006
    calls.append(1)
    return rng.random() < 1 / len(calls)


def hidden(database, rng):
    return rng.random() < os.urandom(1)[0] / 256


def past_the_tape(database, rng):
    return np.random.Generator.random(rng) < 0.5


def below_the_tape(database, rng):
    return np.random.Generator(rng._bit_generator).random()


@pytest.mark.parametrize("run", [remembers, hidden, past_the_tape, below_the_tape])
def test_memory_and_other_randomness_are_no_part_of_a_law(run):
    # `hidden` draws one of 256 thresholds: equal ones in all the runs that are made again have
    # probability below 1e-9. What stands past the tape is the same at each run of the test.
    assert "led elsewhere" in laws(run, 0)


def swallows(database, rng):
    try:
        return rng.laplace()
    except BaseException:  # noqa: BLE001
        return 0


def test_a_handler_of_the_mechanism_hides_no_continuous_draw():
    assert "laplace is no finite draw" in laws(swallows, 0)


def waits(database, rng):
    count = database
    while rng.random() < 0.5:
        count += 1
    return count


def test_what_loops_leave_over_is_told_as_a_tail():
    found = laws(waits, 0)
    assert found.chances[0][:3] == (HALF, HALF**2, HALF**3) or max(found.chances[0]) == HALF
    assert 0 < found.tails[0] < Fraction(1, 10**15)
    assert sum(found.chances[0]) + found.tails[0] == 1


def test_a_loop_that_hardly_ends_is_not_enumerable():
    assert isinstance(
        laws(lambda d, rng: next(i for i in range(10**9) if rng.random() < 1e-6)), str
    )


def test_an_exception_can_be_an_output():
    found = laws(lambda d, rng: 1 // int(rng.integers(2)), 0, exceptions="output")
    assert found.chances[0] == (HALF, HALF)


def test_equal_values_of_other_types_are_one_output():
    found = law(lambda d, rng: [1, 1.0, np.int64(1), True][rng.integers(4)])
    assert sum(found.values()) == 1
    assert found[1] >= Fraction(3, 4)
