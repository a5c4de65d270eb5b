"""What is learnt adds up over batches, and planted events of many coordinates are found."""

from itertools import pairwise
from math import exp

import numpy as np
import pytest
from cloudpickle import dumps, loads
from hypothesis import example, given, settings
from hypothesis import strategies as st

from dpwitness.auditors.choosing.choose import Lesson, softly
from dpwitness.auditors.events.bins import LARGEST, Bins, bins_of_group
from dpwitness.auditors.events.learners.one_column import recurring_values
from dpwitness.auditors.events.ledger import Ledger
from dpwitness.auditors.events.rebuilding import event_from_json
from dpwitness.auditors.outputs.features import Column, Feature
from dpwitness.auditors.outputs.outputs import Outputs
from dpwitness.auditors.outputs.questions import questions

AIM = {"epsilon": 1.0, "delta": 0.0, "trials": 1_000_000, "level": 0.05}


def vectors(rng, size):
    return rng.laplace(size=(size, 3))


def flags(rng, size):
    return rng.random((size, 4)) < 0.3


def mixed(rng, size):
    return [
        (None if u < 0.2 else 3.0 if u < 0.4 else u, "ab"[int(u > 0.7)]) for u in rng.random(size)
    ]


def single(rng, size):
    return rng.normal(size=size)


def gaps(rng, size, likelier=0.5):
    """Twelve numbers of which two are missing; `likelier` is how often they are of `first`.

    No coordinate, no two neighbours, no count and no first gap tell the kinds of pairs apart.
    """
    first, second = np.array([(1, 7), (3, 9), (5, 11)]), np.array([(1, 9), (3, 11), (5, 7)])
    kind = rng.random(size) < likelier
    places = np.where(kind[:, None], first[rng.integers(3, size=size)],
                      second[rng.integers(3, size=size)])  # fmt: skip
    found = rng.normal(size=(size, 12))
    np.put_along_axis(found, places, np.nan, axis=1)
    return found


REAL = [vectors, flags, single]
KINDS = [*REAL, mixed, gaps]


def drawn(make, size, seeds=(1, 2)):
    return [Outputs.of(make(np.random.default_rng(seed), size), size) for seed in seeds]


def counts_of(ledger):
    found = [column.counts for column in ledger.columns]
    return found + ([ledger.patterns.counts] if ledger.patterns else [])


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("cuts", [(1,), (63, 900, 1001)])
def test_batches_add_up(make, cuts):
    sides = drawn(make, 1500)
    whole = Ledger.fixed_on((sides[0][:500], sides[1][:500]), questions)
    parts = Ledger.fixed_on((sides[0][:500], sides[1][:500]), questions)
    whole.add(*sides)
    ends = (0, *cuts, 1500)
    for start, end in pairwise(ends):
        parts.add(*(side[start:end] for side in sides))
    for one, two in zip(counts_of(whole), counts_of(parts), strict=True):
        assert (one == two).all()
        assert one.sum() == 3000
    for place in whole.wanted:
        for one, two in zip(whole.codes(place), parts.codes(place), strict=True):
            assert (one == two).all()


@pytest.mark.parametrize("make", KINDS)
@pytest.mark.parametrize("cuts", [(1,), (63, 900, 1001)])
def test_what_was_counted_elsewhere_adds_up(make, cuts):
    sides = drawn(make, 1500)
    here = Ledger.fixed_on((sides[0][:500], sides[1][:500]), questions)
    there = Ledger.fixed_on((sides[0][:500], sides[1][:500]), questions)
    for ledger in (here, there):
        ledger.most = 950
        if not ledger.patterns and len(ledger.coded) > 3:
            ledger.forget(max(ledger.coded))
    here.add(*sides)
    blank = loads(dumps(there.blank()))
    for start, end in pairwise((0, *cuts, 1500)):
        for side, outputs in enumerate(sides):
            there.enter(side, loads(dumps(blank.tallies(outputs[start:end], start))))
    there.draws = 1500
    for one, two in zip(counts_of(here), counts_of(there), strict=True):
        assert (one == two).all()
    for place in here.wanted:
        for one, two in zip(here.codes(place), there.codes(place), strict=True):
            assert (one == two).all()
    if here.patterns:
        for one, two in zip(here.keys(), there.keys(), strict=True):
            assert (one == two).all()


@pytest.mark.parametrize("make", REAL)
def test_the_choice_does_not_depend_on_batches(make):
    sides = drawn(make, 3000)
    one, two = Lesson(), Lesson()
    one.add(*sides)
    for start in range(0, 3000, 617):
        two.add(*(side[start : start + 617] for side in sides))
    assert one.draws == two.draws == 3000
    assert one.choice(**AIM) == two.choice(**AIM)


@pytest.mark.parametrize("make", REAL)
def test_the_sides_only_change_the_direction(make):
    first, second = drawn(make, 2000)
    one, two = Lesson(), Lesson()
    one.add(first, second)
    two.add(second, first)
    ours, theirs = one.choice(**AIM), two.choice(**AIM)
    assert ours.predicted == pytest.approx(theirs.predicted, abs=0.05)


@pytest.mark.parametrize("make", REAL)
def test_events_replay_from_json_and_memory_is_flat(make):
    lesson = Lesson()
    for seed in range(4):
        lesson.add(*drawn(make, 1500, (2 * seed, 2 * seed + 1)))
        choice = lesson.choice(**AIM)
        again = event_from_json(choice.event.to_json())
        fresh = drawn(make, 500, (90, 91))
        for side in fresh:
            assert (again.contains(side) == choice.event.contains(side)).all()
    assert lesson.draws == 6000
    if make is not single:
        assert not len(lesson._first), "draws that fixed the bins are let go"


@pytest.mark.parametrize("seed", range(3))
def test_which_numbers_are_missing_is_learnt_together(seed):
    likelier = 0.6
    rngs = [np.random.default_rng((seed, side)) for side in (0, 1)]
    shares = (likelier, 1 - likelier)
    sides = [gaps(rng, 20_000, share) for rng, share in zip(rngs, shares, strict=True)]
    lesson = Lesson()
    lesson.add(*(Outputs.of(side, len(side)) for side in sides))
    choice = lesson.choice(**AIM)
    fresh = [
        Outputs.of(gaps(rng, 20_000, share), 20_000)
        for rng, share in zip(rngs, shares, strict=True)
    ]
    p, q = sorted((choice.event.contains(side).mean() for side in fresh), reverse=True)
    # No event of fewer than two coordinates tells the sides apart at all.
    best = np.log(likelier / (1 - likelier))
    assert np.log(p / q) > best / 2


def stopped(rng, size, share, end):
    """The first answer of six, with nothing before it and infinity after it.

    In `share` of the outputs the answer lies above 9.
    """
    answer = np.where(rng.random(size) < share, rng.uniform(9, 10, size), rng.uniform(0, 9, size))
    places, first = np.arange(6), rng.integers(6, size=size)[:, None]
    later = np.where(places < first, np.nan, np.inf)
    return end * np.where(places == first, answer[:, None], later)


@pytest.mark.parametrize("end", [1, -1])
def test_numbers_beside_infinite_ones_are_told_from_them(end):
    """Infinity for "no answer" is no large number, and takes no bins from those there are.

    An answer above 9 has the log-ratio ln 3, whatever its place. Fixed seeds, since the draws that
    teach decide.
    """
    shares, lesson = (0.06, 0.02), Lesson()
    rngs = [np.random.default_rng((7, side)) for side in (0, 1)]
    taught = [stopped(rng, 40_000, share, end) for rng, share in zip(rngs, shares, strict=True)]
    lesson.add(*(Outputs.of(side, len(side)) for side in taught))
    event = lesson.choice(**AIM).event
    fresh = [stopped(rng, 200_000, share, end) for rng, share in zip(rngs, shares, strict=True)]
    p, q = (event.contains(Outputs.of(side, len(side))).mean() for side in fresh)
    assert np.log(p / q) > 0.8 * np.log(3)
    assert "e+308" not in event.describe()


def test_kept_codes_are_bounded():
    ledger = Ledger.fixed_on(tuple(drawn(vectors, 500)), questions)
    ledger.most = 1000
    for seed in range(3):
        ledger.add(*drawn(vectors, 700, (seed, 9 + seed)))
    assert ledger.draws == 2100
    assert ledger.rows == 1000
    assert {len(codes) for place in ledger.wanted for codes in ledger.codes(place)} == {1000}
    assert counts_of(ledger)[0].sum() == 4200


numbers = st.floats() | st.sampled_from([0.0, -0.0, 1.0, 2.5]) | st.floats(-2, 2)


@settings(max_examples=60)
@given(st.lists(numbers, min_size=2, max_size=60), st.lists(numbers, max_size=60))
@example([LARGEST, np.inf], [0.0])
@example([LARGEST, -LARGEST, np.inf, -np.inf, np.nextafter(LARGEST, 0)] * 4, [])
@example([np.inf, -np.inf] * 9 + [k / 7 for k in range(200)], [LARGEST, -LARGEST, 1e300])
def test_a_code_is_the_bin_of_its_number(first, later):
    column = Column(np.array(first))
    for bins in bins_of_group((Feature(),), [(column, column)]):
        values = np.array(first + later)
        codes = bins.codes(Column(values))
        assert codes.max() < bins.size
        for value, code in zip(values.tolist(), codes.tolist(), strict=True):
            if np.isnan(value):
                assert code == bins.numeric
            elif code < bins.numeric:
                assert code == 0 or bins.edges[code - 1] <= value
                assert code == len(bins.edges) or value < bins.edges[code] or value == 0
                atom = bins.atoms[code]
                assert atom in (None, value) or abs(atom - value) < 1e-323
            else:
                assert bins.discrete or (value == LARGEST and bins.atoms[-1] == np.inf)
                assert value not in bins.atoms or abs(value) < 1e-323


@pytest.mark.parametrize("kind", ["i8", "u1", "i4", "u8", "?"])
def test_whole_numbers_have_the_bins_of_their_doubles(kind):
    rng = np.random.default_rng(3)
    values = rng.integers(0, 200, 3000).astype(kind)
    for spread in (values, values[values < values[:40].max()]):
        whole, real = Column(spread), Column(spread.astype(float))
        for one, two in zip(
            bins_of_group((Feature(),), [(whole, whole)]),
            bins_of_group((Feature(),), [(real, real)]),
            strict=True,
        ):
            assert (one.codes(whole) == two.codes(real)).all()


def test_booleans_have_bins_wherever_the_edges_are():
    """Numbers beyond 2**52 fixed the bins, and then the mechanism answers with booleans."""
    for edge in (0.5, 2.0**52, 2.0**60):
        bins = Bins(Feature(), (edge,), (None, None), (), discrete=False)
        assert bins.codes(Column(np.array([False, True]))).tolist() == [0, edge < 1]


def planted(name):
    """Samplers of two sides with a difference no single column shows, and its log-ratio."""
    if name == "two bits agree":

        def draw(rng, size, p):
            bits = rng.random((size, 3)) < 0.5
            bits[:, 1] = np.where(rng.random(size) < p, bits[:, 0], ~bits[:, 0])
            return bits

        return (lambda r, n: draw(r, n, 0.8)), (lambda r, n: draw(r, n, 0.4)), 0.69
    if name == "one shape":

        def draw(rng, size, p):
            shape = rng.integers(0, 8, size)
            shape = np.where(rng.random(size) < p, 5, shape)
            return (shape[:, None] >> np.arange(3)) & 1

        return (lambda r, n: draw(r, n, 0.3)), (lambda r, n: draw(r, n, 0.0)), 1.1
    if name == "many small shifts":
        return (
            (lambda r, n: r.laplace(0.0, 1, (n, 8))),
            (lambda r, n: r.laplace(0.15, 1, (n, 8))),
            0.8,
        )
    return (
        (lambda r, n: np.cumsum(r.laplace(0.0, 1, (n, 6)), axis=1)),
        (lambda r, n: np.cumsum(r.laplace(0.2, 1, (n, 6)), axis=1)),
        0.8,
    )


@pytest.mark.parametrize(
    "name", ["two bits agree", "one shape", "many small shifts", "small shifts that add up"]
)
def test_events_over_many_coordinates_are_found(name):
    first, second, worth = planted(name)
    lesson = Lesson()
    lesson.add(*(Outputs.of(f(np.random.default_rng(s), 60_000), 60_000)
                 for s, f in ((1, first), (2, second))))  # fmt: skip
    choice = lesson.choice(**AIM)
    p, q = (choice.event.contains(Outputs.of(f(np.random.default_rng(s), 300_000), 300_000)).mean()
            for s, f in ((3, first), (4, second)))  # fmt: skip
    if choice.reversed:
        p, q = q, p
    assert p > q * exp(worth * 0.85)
    assert p > 1e-3


@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_numbers_whose_squares_are_no_doubles_hide_nothing():
    """Beside them stands a number that is shifted; a text that ends in 7e213 is such a number."""
    rng = np.random.default_rng(0)

    def beside(shift):
        large = np.minimum(np.exp(np.minimum(rng.exponential(300, 4096), 709)), 1.7e308)
        signs = np.where(rng.random(4096) < 0.5, 1, -1)
        return np.column_stack([signs * large, shift + rng.laplace(size=4096)])

    lesson = Lesson()
    lesson.add(*(Outputs.of(beside(shift), 4096) for shift in (0, 2)))
    # {second number <= 0} and {second number >= 2} lose 2.
    assert lesson.choice(**AIM).predicted > 1.7


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("kind", [float("nan"), None, "failed", 0.25])
def test_what_comes_back_amid_noise_is_seen(kind, seed):
    """One call in 500 against one in 5,000; 300 hits against 30, which lose 2 at least."""

    def noise(share, seed):
        rng = np.random.default_rng(seed)
        found = rng.laplace(size=150_000).astype(object)
        found[rng.random(150_000) < share] = kind
        return Outputs.of_list(found.tolist())

    lesson = Lesson()
    lesson.add(noise(0.002, 2 * seed), noise(0.0002, 2 * seed + 1))
    choice = lesson.choice(**AIM)
    assert choice.predicted > 1.9
    assert not choice.reversed


@pytest.mark.parametrize("ours", [(7, 9), (9, 7), (8, 8)])
@pytest.mark.parametrize("theirs", [(2, 1), (1, 2), (1, 1)])
def test_one_value_seen_16_times_against_2_or_3_is_counted_in_both_folds(ours, theirs):
    """Two standard errors would take it for luck in a fold, and lose what the other one saw."""

    def side(times):
        drawn = np.random.default_rng(sum(times)).laplace(size=16_384)
        for fold, hits in enumerate(times):
            drawn[fold : 2 * hits : 2] = 0.25
        return Outputs.of(drawn, len(drawn))

    whole = [family for family in recurring_values([Feature()], side(ours), side(theirs))
             if not family.reversed]  # fmt: skip
    assert max(family.hits[:, 0].sum() for family in whole) == sum(ours)


@pytest.mark.parametrize("labels", [["x", "y", "z"], [10, 20, 30]])
@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_labelled_entry_of_a_ragged_list_is_seen(labels, place):
    """The entry with the second label at the place is shifted by 2, and is there in most lists."""

    def lists(shift, seed):
        rng = np.random.default_rng(seed)
        found = []
        for size in rng.integers(3, 8, 4096).tolist():
            names = [labels[i] for i in rng.integers(0, 3, size)]
            values = rng.laplace(size=size).tolist()
            mine = [i for i, name in enumerate(names) if name == labels[1]]
            if len(mine) > place and mine:
                values[mine[place]] += shift
            found.append(list(zip(names, values, strict=True)))
        return Outputs.of_list(found)

    lesson = Lesson()
    lesson.add(lists(0, 1), lists(2, 2))
    # {below 0 there} has .5 of them against .5 exp(-2).
    assert lesson.choice(**AIM).predicted > 1.5


def test_a_handful_of_heavy_draws_promise_nothing():
    """Four draws of 4,000 that weigh as much as 50 others each, and speak for the second side."""
    rng = np.random.default_rng(0)
    values, weights = rng.random(4000), np.ones((2, 4000))
    values[:4] = 2 + rng.random(4)
    weights[:, :4] = [[250.0], [1000.0]]
    aim = {"delta": 0.0, "trials": 150_000, "level": 0.05}
    choice, worth = softly(Outputs.of(values, 4000), weights, **aim)
    held = 0 if choice is None else choice.event.contains(Outputs.of(values, 4000)).sum()
    assert worth == -np.inf or held >= 12
    values[:400], weights[:, :400] = 2 + rng.random(400), [[1.0], [4.0]]
    choice, worth = softly(Outputs.of(values, 4000), weights, **aim)
    assert worth > 1


def test_of_many_rare_events_with_one_loss_the_luckiest_is_not_chosen():
    """Geometric noise has a log-ratio of 1 from 1 upwards: the likeliest event shows most of it.

    Of these 40 seeds, by half a standard error less three would choose an event of less than .05.
    """
    p, draws = 1 - exp(-1.0), 100_000
    for seed in range(40):
        rng = np.random.default_rng(seed)
        sides = [rng.geometric(p, draws) - rng.geometric(p, draws) + side for side in (0, 1)]
        lesson = Lesson()
        lesson.add(*(Outputs.of(side, draws) for side in sides))
        choice = lesson.choice(epsilon=1.0, delta=0.0, trials=300_000, level=0.05)
        assert max(choice.rates) > 0.7
