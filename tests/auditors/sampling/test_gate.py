"""What was counted is made again elsewhere, and one byte that differs is a broken contract."""

from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from math import exp

import numpy as np
import pytest

from dpwitness import (
    ContractError,
    ExpectationClaim,
    Interval,
    Mechanism,
    Pair,
    Rows,
    Subject,
    audit,
    check,
)
from dpwitness.auditors.events.events import HalfLine, Outcomes
from dpwitness.auditors.outputs.features import Feature
from dpwitness.auditors.sampling import again, gate
from dpwitness.auditors.sampling.sampling import Sampler
from dpwitness.auditors.workers import door
from dpwitness.auditors.workers.anew import require_enough
from dpwitness.auditors.workers.door import Worker, pickled

PAIR, OPTIONS = ([], [1]), {"epsilon": 1.0, "relation": "add-remove", "trials": 20_000}
TWO_WAYS = "one and the same draw came out in two ways"


def sound(database, rng):
    return len(database) + rng.laplace()


def by_rows(law):
    """Sound single calls, and rows made by `law`."""

    def run(database, rng, *, size=None):
        return sound(database, rng) if size is None else law(database, rng, size)

    return run


def seldom(database, rng):
    """One answer in five hundred is another at each call."""
    seldom.calls += 1
    return sound(database, rng) + (1e-9 * seldom.calls if rng.random() < 0.002 else 0.0)


seldom.calls = 0


def count(run, **options):
    """A count of 4,096 draws a side that refutes something, and its check."""
    sampler = Sampler(run=run, seed=3, **options)
    hits = sampler.count(Pair(*PAIR), HalfLine(Feature(), 0.5, True), "attempt", 0, 4096)
    gate.pass_gate(sampler, refuted=True)
    return hits


@pytest.mark.long
def test_what_stands_alone_comes_out_alike_in_any_number_of_workers():
    assert count(sound) == count(sound, workers=3) == count(sound, in_process=True)


def test_a_difference_of_a_billionth_in_one_draw_of_five_hundred_is_found():
    with pytest.raises(ContractError, match=TWO_WAYS):
        count(seldom)


def reduced(form):
    """Outputs of one form among others, and of another form if a part of them stands alone."""

    def run(database, rng):
        return form(max(0, sound(database, rng) - 3))

    return run


@pytest.mark.long
@pytest.mark.parametrize(
    "form",
    [lambda x: x, lambda x: [x], lambda x: {"x": x}, lambda x: [[x, 1], [2, 3]][: 1 + (x > 0)],
     lambda x: {1} if x > 0 else set(), lambda x: {"a": 1} if x > 0 else {},
     lambda x: x > 0 or x, lambda x: np.int64(0) if x <= 0 else x],
    ids=["number", "list", "dict", "rows", "set", "no keys", "truth", "numpy"],
)  # fmt: skip
def test_the_form_of_those_beside_it_makes_no_draw_another(form):
    # Of two hundred draws one in forty is another form, and of the few that are made again none.
    for seed in range(8):
        sampler = Sampler(run=reduced(form), seed=seed)
        sampler.count(Pair(*PAIR), HalfLine(Feature(), 0.5, True), "attempt", 0, 200)
        gate.pass_gate(sampler, refuted=False)
    event = Outcomes(tuple(sampler.frozen([], 40).rows()[:3]))
    sampler.count(Pair(*PAIR), event, "attempt", 1, 300)
    gate.pass_gate(sampler, refuted=True)


def test_the_draw_is_named_with_both_values():
    last = []

    def repeats(database, rng):
        last.append(rng.laplace())
        return last[-2] if len(last) % 50 == 0 else last[-1]

    with pytest.raises(ContractError, match=r"in draw [\d,]+ of D'?, it gave -?\d.* and it gave"):
        count(repeats)


@pytest.mark.long
@pytest.mark.parametrize(
    "law",
    [
        lambda database, rng, size: len(database) + rng.laplace(scale=0.5, size=size),
        lambda database, rng, size: np.full(size, len(database) + rng.laplace()),
        lambda database, rng, size: np.full(size, float(len(database))),
        lambda database, rng, size: np.where(rng.random(size) < 0.01, len(database), 9.0),
    ],
)
@pytest.mark.parametrize("seed", range(3))
def test_rows_refute_nothing_that_single_calls_keep(law, seed):
    """The claim is exactly true of single calls: each of 12 audits errs with probability 0.001."""
    with suppress(ContractError):
        assert not audit(by_rows(law), pair=PAIR, seed=seed, **OPTIONS).refuted


@pytest.mark.long
def test_single_calls_are_refuted_whatever_the_rows_are():
    def run(database, rng, *, size=None):
        if size is None:
            return len(database) + rng.laplace(scale=0.4)
        return len(database) + rng.laplace(size=size)

    assert audit(run, pair=PAIR, **OPTIONS).refuted


@pytest.mark.long
def test_trusted_rows_are_counted_and_the_evidence_says_so():
    run = by_rows(lambda database, rng, size: len(database) + rng.laplace(scale=0.5, size=size))
    found = audit(run, pair=PAIR, trust_rows=True, **OPTIONS)
    assert found.refuted
    assert found.plan["trust_rows"] is True
    assert found.plan["made_again"] is True


@pytest.mark.long
def test_memory_in_a_file_withholds_a_refutation(tmp_path):
    path = tmp_path / "answers"

    def kept(database, rng):
        try:
            answers = dict(line.split("=") for line in path.read_text().splitlines())
        except FileNotFoundError:
            answers = {}
        key = str(len(database))
        if key not in answers:
            answers[key] = str(sound(database, rng))
            path.write_text("\n".join(f"{a}={b}" for a, b in answers.items()))
        return float(answers[key])

    with pytest.raises(ContractError, match=r"answers, which outlives its process"):
        audit(kept, pair=PAIR, **OPTIONS)


def test_what_is_made_alone_are_draws_without_which_nothing_is_refuted():
    """Hits of the side that has more of them, and what is no hit of the other, in random order."""
    sampler = Sampler(run=sound, seed=1)
    event = HalfLine(Feature(), 0.5, True)
    sampler.count(Pair(*PAIR), event, "attempt", 0, 3000)
    entered = sampler.tally.deciding.entered
    asked = [gate.RemadeCall.of(one, one.block.size) for one in entered]
    order = [(place, draw) for place, one in enumerate(asked) for draw in range(one.count)][::-1]
    chosen, telling = gate._telling(asked, order)
    assert telling
    assert sorted(chosen) == sorted(order)
    for side, wanted in ((0, False), (1, True)):
        own = [one for one in chosen if asked[one[0]].block.side == side][:100]
        assert all(gate._inside(asked[place])[draw] == wanted for place, draw in own)
        assert own == sorted(own, reverse=True)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0, 3.0, 12.0])
@pytest.mark.parametrize("delta", [0.0, 1e-6, 0.1, 0.9])
def test_draws_that_stand_alone_are_enough_against_every_claim(epsilon, delta):
    """No P[E] and Q[E] that the claim allows make n of them, half of each, look alike oftener."""
    grid = np.linspace(0, 1, 1001)
    p, q = grid[:, None], grid[None, :]
    kept = (p <= exp(epsilon) * q + delta) & (1 - q <= exp(epsilon) * (1 - p) + delta)
    likely = float((p * (1 - q))[kept].max()) ** 0.5
    most = (exp(epsilon) + delta) / (1 + exp(epsilon))
    number = again.alone_against(epsilon, delta)
    assert likely <= most + 1e-12
    assert number <= again.MOST_ALONE
    if number < again.MOST_ALONE:
        assert most**number <= again.ALIKE
        assert number == 2 * again.FEWEST or most ** (number - 1) > again.ALIKE
    # Where they are not enough, it is said how rarely a bit differs that they may overlook.
    unlike = again.overlooked(epsilon, delta)
    assert bool(unlike) == (most**again.MOST_ALONE > again.ALIKE)
    assert not unlike or 1 - 1 / unlike == pytest.approx(most, abs=1e-12)


def coin_of_each_database(epsilon):
    """Randomized response that answers alike about one database as long as a process lives."""
    kept = {}

    def answered(database, rng):
        place = len(database)
        if place not in kept:
            kept[place] = (place + (rng.random() > exp(epsilon) / (1 + exp(epsilon)))) % 2
        return kept[place]

    return answered


@pytest.mark.long
@pytest.mark.parametrize("seed", [3, pytest.param(4, marks=pytest.mark.slow)])
def test_one_bit_that_is_remembered_accuses_nobody_however_likely_it_is(seed):
    """With 32 draws made alone seed 4 was refuted at epsilon 3. The seeds make it certain."""
    asked = {"relation": "add-remove", "trials": 10_000, "seed": seed}
    with pytest.raises(ContractError, match="came out in two ways"):
        audit(coin_of_each_database(3.0), epsilon=3.0, pair=([], [0]), **asked)


@pytest.mark.long
@pytest.mark.parametrize("seed", range(2))
def test_one_likely_bit_that_is_remembered_breaks_no_mean(seed):
    """Its mean is .98 where .98 is promised, and every call of a process gives 1."""
    kept = []

    def answered(database, rng):
        kept.append(float(rng.random() < 0.98))
        return kept[0]

    claim = ExpectationClaim(
        quantity=lambda database, output: np.asarray(output, dtype=float), bound=0.98,
        low=0.0, high=1.0, databases=([],),
    )  # fmt: skip
    said = Mechanism(
        name="answered", run=answered, databases=Rows(row=Interval(low=0, high=1)), claims=(claim,)
    )
    with pytest.raises(ContractError, match="came out in two ways"):
        check(Subject(claim=claim, mechanism=said), trials=4000, seed=seed)


def labelled(database, rng, *, size=None):
    """Of a block of outputs each has all labels, and one that stands alone its own."""
    kinds = np.array(["low", "high", "none"])
    noise = rng.laplace(0, 0.3, size=size)
    return {"kind": kinds[rng.integers(3, size=size)], "total": len(database) + noise}


@pytest.mark.long
def test_an_output_is_alike_whatever_labels_others_have():
    """By what it says: its bytes among others are of other labels too."""
    sampler, encoded = Sampler(run=labelled, seed=1), [pickled(one) for one in PAIR]
    total = Feature(path=(("key", "'total'"),))
    sampler.count(Pair(*PAIR), HalfLine(total, 0.5, True), "attempt", 0, 60)
    entered = sampler.tally.deciding.entered[0]
    one = gate.RemadeCall.of(entered, entered.block.size)
    worker, order = Worker(labelled), [(0, draw) for draw in range(40)]
    (made,) = gate._remade(worker, encoded, [one], order, seeding=True)
    alone = [gate._as_drawn(worker, one, encoded, [value]) for value in made]
    assert [gate._otherwise(one, draw, alone[draw]) for _, draw in order] == [()] * 40
    words = gate._otherwise(one, 0, alone[1])
    assert words is not None
    assert len(words) == 2
    assert audit(labelled, pair=PAIR, **OPTIONS).refuted


TOSSED = """
import numpy as np
COIN = int(np.random.default_rng().integers(2))

def tossed(database, rng):
    return 10 * ((len(database) % 2) ^ COIN) + rng.laplace()
"""


def imported(place, monkeypatch, name, text):
    """A module of a user's own, which processes import anew."""
    (place / f"{name}.py").write_text(text)
    monkeypatch.syspath_prepend(place)
    return import_module(name)


@pytest.mark.long
@pytest.mark.parametrize("number", range(4))
def test_a_coin_of_an_import_accuses_nobody_beside_fresh_noise(tmp_path, monkeypatch, number):
    """It falls alike in 33 processes with probability 2e-10; in 4 it does once in 8 cases."""
    module = imported(tmp_path, monkeypatch, f"tossed_{number}", TOSSED)
    with pytest.raises(ContractError, match="imports the mechanism's modules anew"):
        audit(module.tossed, pair=([], [0]), epsilon=1.0, relation="add-remove", trials=4000)


def test_too_few_processes_that_import_refute_nothing():
    require_enough([], 32, 0.9)  # there are no modules
    require_enough([0] * 16, 204, 0.9)
    require_enough([0] * 8, 8, 0.9)
    require_enough([0] * 8, 32, 0.4)  # it is the calls that take long
    with pytest.raises(ContractError, match="only 15 of 204 processes imported them anew"):
        require_enough([0] * 15, 204, 0.9)


SET_UP = """
SHIFT = 0.0

def seldom(database, rng):
    x = len(database) + rng.laplace(0, 0.3)
    return x if rng.random() < 0.9 else x + SHIFT
"""


@pytest.mark.long
@pytest.mark.parametrize("seed", range(4))
def test_a_module_that_was_set_up_is_refuted_as_it_is(tmp_path, monkeypatch, seed):
    """Also where that shows in a tenth of the outputs: it is the same in all that import anew."""
    module = imported(tmp_path, monkeypatch, f"set_up_{seed}", SET_UP)
    module.SHIFT = 50.0
    asked = {"epsilon": 1.0, "relation": "add-remove", "trials": 4000, "seed": seed}
    assert audit(module.seldom, pair=([], [0]), **asked).refuted


@pytest.mark.long
def test_wide_outputs_of_late_blocks_are_made_again_as_far_as_they_were_kept():
    def wide(database, rng):
        return len(database) + rng.laplace(size=20)

    sampler = Sampler(run=wide, seed=3)
    sampler.count(
        Pair(*PAIR), HalfLine(Feature(path=(("index", 0),)), 0.5, True), "attempt", 0, 5200
    )
    gate.pass_gate(sampler, refuted=True)


def test_memory_is_found_where_nothing_is_refuted():
    """By the bytes of an answer; the event that is counted at last happens on neither side."""

    def renewed(database, rng, last=[]):  # noqa: B006
        noise = rng.laplace()
        if not last or rng.random() < 0.1:
            last[:] = [noise]
        return len(database) + last[0]

    with pytest.raises(ContractError, match=TWO_WAYS):
        audit(renewed, pair=PAIR, **{**OPTIONS, "alpha": 1e-6})


def test_where_calls_are_dear_fewer_are_made_again():
    sampler = Sampler(run=sound, seed=1)
    sampler.draw(Pair(*PAIR), "attempt", 0, 2000)
    entered = sampler.tally.deciding.entered
    dear = [replace(one, drawn=replace(one.drawn, pace=1.0)) for one in entered]
    seconds = sum(one.block.size for one in dear)
    for every in (False, True):
        some = gate._chosen(dear, again.MOST, seconds, every=every)
        assert again.LEAST <= sum(n for one, n in some if one.block.side == 0)
        assert sum(n for _, n in some) <= 2 * max(again.LEAST, again.PART * seconds)


def test_one_block_that_waited_makes_no_call_dear():
    """Under load a block of four draws takes a thousand times as long, and memory needs many."""
    sampler = Sampler(run=sound, seed=1)
    sampler.draw(Pair(*PAIR), "attempt", 0, 6000)
    first, *others = sampler.tally.deciding.entered
    quick = [replace(one, drawn=replace(one.drawn, pace=1e-6)) for one in others]
    slow = replace(first, block=first.block._replace(size=4), drawn=replace(first.drawn, pace=1e-2))
    seconds = sum(one.drawn.pace * one.block.size for one in [slow, *quick])
    some = gate._chosen([slow, *quick], again.MOST, seconds, every=True)
    assert sum(n for one, n in some if one.block.side == 1) >= again.MOST


class Lossy:
    """Its copy forgets what it holds."""

    def __init__(self, held):
        self.held = held

    def __reduce_ex__(self, _):
        return Lossy, (0,)


class Nested(Lossy):
    def __deepcopy__(self, _):
        return Nested(0.0)


@pytest.mark.long
@pytest.mark.parametrize(
    "wrap", [Lossy, Nested, lambda x: [Nested(x)], lambda x: {"a": (Lossy(x),)}]
)
def test_what_is_compared_is_what_was_returned(wrap):
    with pytest.raises(ContractError, match="a copy of it reads"):
        audit(lambda database, rng: wrap(100 * len(database) + rng.laplace()), pair=PAIR, **OPTIONS)


class Faithful:
    def __init__(self, held):
        self.held = held


@pytest.mark.long
@pytest.mark.parametrize(
    "wrap", [Faithful, lambda x: [Faithful(x), {x}], lambda x: np.array([x, np.nan])]
)
def test_a_faithful_copy_is_no_fault(wrap):
    found = audit(lambda database, rng: wrap(len(database) + rng.laplace()), pair=PAIR, **OPTIONS)
    assert not found.refuted


def test_few_copies_of_a_large_database_are_made_and_at_least_some(monkeypatch):
    """Each is another object until there are as many as fit, and equal to what was pickled."""
    monkeypatch.setattr(door, "COPIES", 60)
    small, large = pickled([1, 2]), pickled(list(range(1000)))
    copies = door.Copies([small, large])
    for place, most in ((0, 60 // len(small)), (1, door.FEWEST_COPIES)):
        made = [copies.of(place, new=True) for _ in range(20)]
        assert all(pickled(one) == (small, large)[place] for one in made)
        assert len(set(map(id, made))) == max(most, door.FEWEST_COPIES)
