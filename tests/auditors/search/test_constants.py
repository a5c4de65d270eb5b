"""Constants are read wherever a mechanism's code can take them from."""

from datetime import date
from functools import partial

import numpy as np
import pytest

from dpwitness.auditors.attackers.seen import through_bits
from dpwitness.auditors.remote.mechanism import RemoteRun
from dpwitness.auditors.search.constants import MOST, codes_of, constants_of
from dpwitness.mechanisms.model import Mechanism

NAMED = 4242
TABLE = {"fir": 612}


class Kept:
    CODE = 77
    LATER = 999

    def __init__(self):
        self.own = 55

    def __call__(self, database, rng):
        return self.known(database) + self.own

    def known(self, database):
        return self.CODE in database


def helper(database, limit=31):
    return (3, "x") in database


def closed(secret):
    def run(database, rng):
        return secret in database

    return run


@pytest.mark.parametrize(
    ("run", "wanted"),
    [
        (lambda d, rng: 42 in d, {42}),
        (lambda d, rng: any(v == "yes" for v in d), {"yes"}),
        (lambda d, rng: NAMED in d, {4242}),
        (lambda d, rng: d in TABLE.values(), {612, "fir"}),
        (lambda d, rng: helper(d), {3, "x", 31}),
        (lambda d, rng: date(1987, 6, 5) in d, {1987, 6, 5}),
        (lambda d, rng: "2020-02-29" in d, {"2020-02-29", 2020, 2, 29}),
        (closed(np.float64(2.5)), {2.5}),
        (partial(helper, limit=64), {64}),
        (Kept(), {77, 55}),
        (Kept().known, {77}),
    ],
)
def test_where_constants_stand(run, wanted):
    assert wanted <= set(constants_of(run))


def test_what_no_code_names_is_left_out():
    assert 999 not in constants_of(Kept())
    assert len(constants_of(closed(list(range(60))))) <= MOST
    assert constants_of(np.sum) == ()


def test_what_carries_a_mechanism_is_not_its_code():
    greets = """echo '{"dpwitness": 1}'; cat > /dev/null"""
    child = RemoteRun(["sh", "-c", greets])
    assert codes_of(child) == constants_of(child) == ()
    bits = through_bits(Mechanism(name="h", run=helper)).run
    assert codes_of(bits) == codes_of(helper)
    assert constants_of(bits) == constants_of(helper)


def test_order_of_use_is_kept():
    found = constants_of(lambda d, rng: d[0] == 321 and d[1] == "elm" and d[2] == 7)
    assert [v for v in found if v in (321, "elm", 7)] == [321, "elm", 7]


def test_a_constant_comes_again_behind_another_one():
    found = constants_of(lambda d, rng: (d[-1] > 40 and date(2001, 9, 9) in d) or d[-9] == 40)
    assert [v for v in found if v in (2001, 9, 40)] == [40, 2001, 9, 9, 40]
    assert constants_of(lambda d, rng: d[1] + d[1] + d[7] + d[1]) == (1, 7)
