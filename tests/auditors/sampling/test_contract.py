"""Every way to break the contract is named in one sentence; keeping to it is never an offence."""

import gc
import math
import os
import random
import signal
import sys
import time
import warnings
from functools import lru_cache, partial

import numpy as np
import pytest

from dpwitness import ContractError, MechanismHangs, Pair, Verdict, audit
from dpwitness.auditors.sampling.gate import pass_gate
from dpwitness.auditors.sampling.sampling import Sampler

PAIR = Pair([0, 1], [0, 1, 1])


def check(run, pair=PAIR, **options):
    """Draws of both databases, made again; ContractError unless the contract is kept."""
    sampler = Sampler(run=run, seed=7, **options)
    sampler.check_call(pair)
    first, second = sampler.draw(pair, "attempt", 0, 64)
    pass_gate(sampler, refuted=True)
    return repr((first.rows(), second.rows()))


def noisy_sum(database, rng, *, size=None):
    return sum(database) + rng.laplace(size=size)


def raises(database, rng):
    raise KeyError("age")


def raises_without_message(database, rng):
    raise ValueError


def exits(database, rng):
    raise SystemExit(3)


def wrong_length(database, rng, *, size=None):
    return rng.laplace(size=size + 1)


def ignores_size(database, rng, *, size=None):
    return rng.laplace()


def appends(database, rng):
    database.append(1)
    return rng.laplace()


def writes_array(database, rng, *, size=None):
    database[0] = 5
    return rng.laplace(size=size)


def global_numpy(database, rng):
    return np.random.laplace()  # noqa: NPY002 - the offence under test


def global_random(database, rng):
    return random.random()


def system(database, rng):
    return np.random.default_rng().laplace()


def clock(database, rng):
    return time.perf_counter_ns()


def counting():
    calls = [0]

    def run(database, rng):
        calls[0] += 1
        return calls[0]

    return run


def every(period):
    """Sound noise, and a shift at every so many calls."""
    calls = [0]

    def run(database, rng):
        calls[0] += 1
        return len(database) + rng.laplace() + (3 if calls[0] % period == 0 else 0)

    return run


def own_generator():
    private = np.random.default_rng(3)

    def run(database, rng):
        return private.laplace()

    return run


def one_argument(database):
    return 0.0


@pytest.mark.long
@pytest.mark.parametrize(
    ("run", "sentence"),
    [
        (raises, r"raised KeyError: 'age' at test_contract\.py:\d+ on database \[0, 1\]"),
        (raises_without_message, "raised ValueError at"),
        (exits, "raised SystemExit"),
        (wrong_length, "leading"),
        (ignores_size, "leading"),
        (appends, r"changed the database"),
        (system, "draws randomness from elsewhere"),
        (clock, "draws randomness from elsewhere"),
        (counting(), "keeps state between calls"),
        (every(2), "keeps state between calls"),
        (every(3), "keeps state between calls"),
        (every(4), "keeps state between calls"),
        (own_generator(), "keeps state between calls"),
        (one_argument, r"called as mechanism\(database, rng\)"),
    ],
)
def test_each_breach_is_named(run, sentence):
    with pytest.raises(ContractError, match=sentence):
        check(run)


def test_writing_into_an_array_is_a_changed_database():
    pair = Pair(np.zeros(2), np.ones(2))
    with pytest.raises(ContractError, match="changed the database"):
        check(writes_array, pair)


@pytest.mark.parametrize("run", [system, clock, own_generator()])
def test_declared_unseeded_mechanisms_are_let_off(run):
    check(run, seeded=False)


def test_a_mechanism_that_sleeps_is_stopped():
    with pytest.raises(MechanismHangs, match=r"did not return within 0\.2 s"):
        check(lambda database, rng: time.sleep(60), limit=0.2)


def test_a_mechanism_that_swallows_exceptions_is_stopped_too():
    def stubborn(database, rng):
        while True:
            try:
                time.sleep(60)
            except Exception:  # noqa: BLE001
                continue

    with pytest.raises(MechanismHangs):
        check(stubborn, limit=0.2)


def cached():
    @lru_cache
    def query(rows):
        return sum(rows)

    return lambda database, rng: query(tuple(database)) + rng.laplace()


@pytest.mark.slow
@pytest.mark.parametrize(
    "run",
    [
        noisy_sum,
        partial(noisy_sum),
        cached(),
        lambda database, rng: math.nan,
        lambda database, rng: rng.choice([math.inf, -math.inf, -0.0, 0.0, math.nan]),
        lambda database, rng: None,
        lambda database, rng: "yes" if rng.random() < 0.5 else None,
        lambda database, rng: tuple(rng.random(rng.integers(4))),
        lambda database, rng: {"count": rng.integers(3), "ok": True},
    ],
)
def test_sound_mechanisms_of_all_kinds_are_accepted(run):
    assert check(run) == check(run)


def sticky():
    answers = {}

    def run(database, rng):
        key = tuple(database)
        if key not in answers:
            answers[key] = sum(database) + rng.laplace()
        return answers[key]

    return run


def sticky_rows():
    answers = {}

    def run(database, rng, *, size=None):
        key = (tuple(database), size)
        if key not in answers:
            answers[key] = sum(database) + rng.laplace(size=size)
        return answers[key]

    return run


def one_noise_for_ever():
    noise = []

    def run(database, rng):
        if not noise:
            noise.append(rng.laplace())
        return sum(database) + noise[0]

    return run


@pytest.mark.long
@pytest.mark.parametrize("make", [sticky, sticky_rows, one_noise_for_ever])
def test_an_answer_that_is_remembered_is_no_draw(make):
    with pytest.raises(ContractError, match="keeps state between calls"):
        check(make())


@pytest.mark.long
@pytest.mark.parametrize(
    "run", [lambda database, rng: len(database), lambda database, rng: {"n": [len(database)]}]
)
def test_a_mechanism_without_randomness_is_none_that_remembers(run):
    check(run)


def test_unseeded_mechanisms_stay_in_one_process():
    # Copies of one generator in two workers would give the same draws twice.
    private = np.random.default_rng(5)

    def run(database, rng):
        return private.random()

    sampler = Sampler(run=run, seed=1, seeded=False, workers=2)
    first, second = sampler.draw(PAIR, "attempt", 0, 5000)
    assert len({*first.rows(), *second.rows()}) == 10_000


@pytest.mark.long
@pytest.mark.parametrize("run", [global_numpy, global_random])
def test_global_generators_are_seeded_for_the_call_and_put_back(run):
    assert check(run) == check(run)
    np.random.seed(4)  # noqa: NPY002
    np.random.standard_normal()  # noqa: NPY002 - leaves another one in reserve
    before = random.getstate(), repr(np.random.get_state())  # noqa: NPY002
    result = audit(run, epsilon=1.0, pair=([], [1]), trials=3000)
    assert result.evidence == audit(run, epsilon=1.0, pair=([], [1]), trials=3000).evidence
    assert result.verdict is not Verdict.REFUTED
    assert before == (random.getstate(), repr(np.random.get_state()))  # noqa: NPY002


class Abort(BaseException):
    pass


class Unprintable(Exception):
    def __str__(self):
        raise RuntimeError


@pytest.mark.parametrize("kind", [BaseException, GeneratorExit, SystemExit, Abort, Unprintable])
def test_anything_raised_is_a_broken_contract(kind):
    def run(database, rng):
        raise kind

    with pytest.raises(ContractError, match=f"raised {kind.__name__}"):
        check(run)


def test_an_interruption_that_the_mechanism_raises_is_its_own():
    def run(database, rng):
        raise KeyboardInterrupt

    with pytest.raises(ContractError, match="raised KeyboardInterrupt"):
        check(run)


def test_raising_on_one_database_only_is_called_a_disclosure():
    def run(database, rng):
        return 1 / (len(database) - 3)

    with pytest.raises(ContractError, match="it returned: raising on one database"):
        check(run)


@pytest.mark.parametrize("database", [[], [1]])
def test_who_may_raise_learns_of_the_option(database):
    def run(database, rng):
        if rng.random() < 0.3:
            raise KeyError(database)
        return rng.random()

    with pytest.raises(ContractError, match='exceptions="output"') as caught:
        audit(run, epsilon=1.0, pair=(database, [1, *database]), trials=400)
    assert "exceptions" in caught.value.keywords


@pytest.mark.long
def test_an_exception_can_be_the_output():
    def run(database, rng):
        if len(database) and rng.random() < 0.3:
            raise KeyError(database)
        return rng.random()

    result = audit(run, epsilon=1.0, pair=([], [1]), trials=4000, exceptions="output")
    assert result.verdict is Verdict.REFUTED


@pytest.mark.long
def test_what_a_mechanism_changes_in_the_process_does_not_reach_us(tmp_path, capsys):
    before = os.getcwd(), dict(os.environ), list(warnings.filters), np.geterr()

    def run(database, rng):
        os.chdir(tmp_path)
        os.environ["DPWITNESS_TEST"] = "1"
        warnings.simplefilter("ignore")
        np.seterr(all="ignore")
        print("private")
        sys.stderr.write("private")
        warnings.warn("private", stacklevel=1)
        sys.stdout.close()
        return rng.random()

    check(run)
    assert before == (os.getcwd(), dict(os.environ), list(warnings.filters), np.geterr())
    assert capsys.readouterr() == ("", "")


@pytest.mark.long
def test_prints_are_shown_on_request(capfd):
    def run(database, rng):
        print("seen")
        return 0.0

    check(run, show_output=True)
    assert "seen" in capfd.readouterr().out


def test_a_replaced_function_of_numpy_is_found(monkeypatch):
    monkeypatch.setattr(np, "count_nonzero", lambda *_: 0)
    with pytest.raises(ContractError, match=r"numpy\.count_nonzero is not the function it was"):
        audit(noisy_sum, epsilon=1.0, pair=([], [1]), trials=400)


@pytest.mark.long
def test_the_callers_alarm_rings_when_it_would_have_rung():
    rung = []

    class Limit(Exception):
        pass

    def ring(*_):
        rung.append(time.monotonic())
        raise Limit

    held = signal.signal(signal.SIGALRM, ring)
    # What a finalizer raises is ignored, and the alarm may fall into one.
    gc.collect()
    gc.disable()
    signal.setitimer(signal.ITIMER_REAL, 0.3)
    try:
        with pytest.raises(Limit):
            check(lambda database, rng: time.sleep(60), limit=20.0)
        assert len(rung) == 1
        assert signal.getsignal(signal.SIGALRM) is ring
        signal.setitimer(signal.ITIMER_REAL, 100)
        check(noisy_sum)
        left, _ = signal.setitimer(signal.ITIMER_REAL, 0)
        assert 0 < left < 100
    finally:
        gc.enable()
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, held)


def test_a_mechanism_that_swallows_everything_is_stopped_too():
    def stubborn(database, rng):
        while True:
            try:
                time.sleep(60)
            except BaseException:  # noqa: BLE001
                continue

    with pytest.raises(MechanismHangs):
        check(stubborn, limit=0.2)


def test_leaving_the_process_is_a_broken_contract():
    with pytest.raises(ContractError, match=r"ended the process .* with status 7"):
        check(lambda database, rng: os._exit(7))


def test_dying_of_a_signal_is_a_broken_contract():
    with pytest.raises(ContractError, match="killed by SIGSEGV"):
        check(lambda database, rng: os.kill(os.getpid(), signal.SIGSEGV))
