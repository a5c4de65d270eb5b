"""How often the search meets a leak that few databases show, by class of leak.

    python benchmarks/needles.py [--seeds 10] [--trials 200000] [--json needles.json] [CLASS ...]

Each needle is a sum or a count with enough Laplace noise, and a leak on few databases. The classes
under `SHAPED` are those of which the search was built, and say little about others; those under
`HELD_OUT` were written after it, and were not used to change it. A sound mechanism is never to be
refuted: `SOUND` is there for its cost.
"""

import argparse
import hashlib
import json
import platform
import re
import time
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from functools import partial
from typing import Any

import numpy as np
from hypothesis import strategies as st

from dpwitness import Pair, audit

VALUES = st.lists(st.integers(0, 99), max_size=30)
WIDE = st.lists(st.integers(0, 9999), max_size=30)
WORDS = tuple("ash birch cedar elm fir holly larch maple oak pine".split())
TEXTS = st.lists(st.sampled_from(WORDS), max_size=30)
LEAK = 10


@dataclass(frozen=True, kw_only=True)
class Needle:
    """A mechanism that leaks on few of its databases."""

    run: Callable[..., Any]
    databases: Any
    options: dict[str, Any] = field(default_factory=dict)


def leak(leaks: Callable[[Any], Any], amount: float = LEAK) -> Callable[..., Any]:
    """A noisy count, higher by `amount` on the databases that leak."""

    def run(database: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
        return len(database) + amount * bool(leaks(database)) + rng.laplace(scale=1.1, size=size)

    return run


class Limit:
    """A threshold kept in a class, compared in a method."""

    CODE = 4242

    def __call__(self, database: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
        """A noisy count that leaks one value."""
        found = self.known(database)
        return len(database) + LEAK * found + rng.laplace(scale=1.1, size=size)

    def known(self, database: Any) -> bool:
        """Whether the value is there."""
        return self.CODE in database


def rarely(database: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
    seldom = rng.random(size) < 1e-3 if 42 in database else 0
    return len(database) + 1000 * seldom + rng.laplace(scale=1.1, size=size)


def one_of_thirty(which: int, rng: np.random.Generator, *, size: Any = None) -> Any:
    index, side = which
    return side * (1.2 if index == 17 else 1.0) + rng.laplace(size=size)


def one_of_many(which: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
    index, side = which
    return side * (1.5 if index == 271 else 1.0) + rng.laplace(size=size)


def corner(vector: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
    wide = 8 * (min(vector) >= 9)
    return sum(vector) + wide * vector[0] + rng.laplace(scale=11, size=size)


def both_ends(value: float, rng: np.random.Generator, *, size: Any = None) -> Any:
    return value + rng.laplace(scale=0.8, size=size)


def at_one_end(value: float, rng: np.random.Generator, *, size: Any = None) -> Any:
    return value + 10 * (value == 1.0) + rng.laplace(scale=1.1, size=size)


PEOPLE = st.lists(
    st.fixed_dictionaries({"age": st.integers(0, 120), "city": st.sampled_from(WORDS)}), max_size=60
)
TUPLES = st.lists(st.tuples(st.integers(0, 999), st.sampled_from(WORDS), st.booleans()), max_size=9)
DATES = st.lists(st.dates(min_value=date(1900, 1, 1), max_value=date(2030, 1, 1)), max_size=9)
FREE = st.lists(st.text(max_size=8), max_size=9)
OPTIONAL = st.lists(st.none() | st.integers(0, 99), max_size=20)
SIGNED = st.lists(st.integers(-50, 50), max_size=30)
MANY = st.sampled_from([Pair((i, 0), (i, 1)) for i in range(300)])
THIRTY = st.sampled_from([Pair((i, 0), (i, 1)) for i in range(30)])
VECTORS = st.lists(st.integers(0, 10), min_size=5, max_size=5).map(
    lambda v: Pair(v, [v[0] - 1 if v[0] else 1, *v[1:]])
)
REPLACE = {"relation": "replace-one"}
DECLARED = {"relation": "declared"}

SHAPED = {
    "a size from 6": Needle(run=leak(lambda d: len(d) >= 6), databases=VALUES),
    "a size from 25": Needle(run=leak(lambda d: len(d) >= 25), databases=VALUES),
    "a value from 97": Needle(run=leak(lambda d: max(d, default=0) >= 97), databases=VALUES),
    "one value of 100": Needle(run=leak(lambda d: 42 in d), databases=VALUES),
    "one value of 10000": Needle(run=leak(lambda d: 4242 in d), databases=WIDE),
    "two values": Needle(run=leak(lambda d: 42 in d and 17 in d), databases=VALUES),
    "two words": Needle(run=leak(lambda d: "elm" in d and "oak" in d), databases=TEXTS),
    "a sum": Needle(run=leak(lambda d: sum(d) == 100), databases=VALUES),
    "a value repeated": Needle(
        run=leak(lambda d: any(d.count(v) >= 3 for v in d)), databases=VALUES
    ),
    "rows descending": Needle(
        run=leak(lambda d: len(d) >= 3 and d == sorted(d, reverse=True)), databases=VALUES
    ),
    "probability 1e-3 at a value": Needle(run=rarely, databases=VALUES),
    "a group passes 20": Needle(
        run=leak(lambda d: sum(p["city"] == "oak" for p in d) >= 20), databases=PEOPLE
    ),
    "a corner of a vector": Needle(run=corner, databases=VECTORS, options=DECLARED),
    "a scalar at one end": Needle(run=at_one_end, databases=st.floats(0, 1), options=REPLACE),
    "slight, between both ends": Needle(run=both_ends, databases=st.floats(0, 1), options=REPLACE),
    "one of 30 pairs at 1.2": Needle(run=one_of_thirty, databases=THIRTY, options=DECLARED),
    "one text": Needle(run=leak(lambda d: "secret" in d), databases=FREE),
    "a tuple": Needle(run=leak(lambda d: (321, "elm", True) in d), databases=TUPLES),
    "a date": Needle(run=leak(lambda d: date(1987, 6, 5) in d), databases=DATES),
    "different values": Needle(run=leak(lambda d: len(set(d)) >= 20), databases=VALUES),
    "number of None": Needle(run=leak(lambda d: d.count(None) >= 4), databases=OPTIONAL),
    "parity of the size": Needle(run=leak(lambda d: len(d) % 2), databases=VALUES),
    "two equal maxima": Needle(
        run=leak(lambda d: len(d) > 1 and sorted(d)[-2] == max(d)), databases=VALUES
    ),
    "several negative rows": Needle(
        run=leak(lambda d: sum(v < 0 for v in d) >= 9), databases=SIGNED
    ),
    "a constant of a class": Needle(run=Limit(), databases=WIDE),
}


def by_arithmetic(database: Any) -> bool:
    return any(3 * value + 1 == 1909 for value in database)


def by_hash(database: Any) -> bool:
    return any(hashlib.blake2b(b"%d" % v).digest()[0] == 7 for v in database)


def beyond_the_mean(database: Any, base: float = 3.0) -> bool:
    limit = base * 25 + 7
    return len(database) > 0 and sum(database) / len(database) > limit


def palindrome(database: Any) -> bool:
    return len(database) >= 4 and database == database[::-1] and len(set(database)) > 1


def one_city_old(database: Any) -> bool:
    return any(p["city"] == "larch" and p["age"] > 99 for p in database)


TABLE = {"fir": 612, "elm": 88}


def in_a_table(database: Any) -> bool:
    return any(value in TABLE.values() for value in database)


def partial_limit(database: Any, rng: np.random.Generator, limit: int, *, size: Any = None) -> Any:
    return len(database) + LEAK * (limit in database) + rng.laplace(scale=1.1, size=size)


def bound(function: Callable[..., Any], **fixed: Any) -> Callable[..., Any]:
    made = partial(function, **fixed)

    def run(database: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
        return made(database, rng, size=size)

    return run


def ten_coordinates(database: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
    counts = np.bincount([v // 10 for v in database], minlength=10)
    shape = (10,) if size is None else (size, 10)
    counts[7] += 6 * (77 in database)
    return counts + rng.laplace(scale=1.1, size=shape)


def silent(database: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
    scale = 1.1 if len(database) < 17 else 0.4
    return len(database) + rng.laplace(scale=scale, size=size)


def grid(point: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
    x, y = point
    return x + y + 9 * (x == 1.0 and y == -1.0) + rng.laplace(scale=3.2, size=size)


HELD_OUT = {
    "a mean beyond a computed limit": Needle(run=leak(beyond_the_mean), databases=VALUES),
    "one city and age": Needle(run=leak(one_city_old), databases=PEOPLE),
    "a value in a table of the module": Needle(run=leak(in_a_table), databases=WIDE),
    "a bound argument in a closure": Needle(run=bound(partial_limit, limit=7071), databases=WIDE),
    "one of ten coordinates": Needle(run=ten_coordinates, databases=VALUES),
    "less noise from a size on": Needle(run=silent, databases=VALUES),
    "a replaced row, one value": Needle(
        run=leak(lambda d: 4711 in d), databases=WIDE, options=REPLACE
    ),
    "an array with a value": Needle(
        run=leak(lambda d: bool((d == 613).any())),
        databases=st.lists(st.integers(0, 999), max_size=20).map(np.array),
    ),
    "a corner of a point": Needle(
        run=grid,
        databases=st.tuples(st.floats(-1, 1), st.floats(-1, 1)).map(
            lambda p: Pair(p, (-p[0], p[1]))
        ),
        options=DECLARED,
    ),
    "a size of exactly 19": Needle(run=leak(lambda d: len(d) == 19), databases=VALUES),
    "a range of values": Needle(run=leak(lambda d: any(300 < v < 310 for v in d)), databases=WIDE),
    "sum over a limit": Needle(run=leak(lambda d: sum(d) > 2000), databases=VALUES),
}

SHAPED |= {
    "a value by arithmetic": Needle(run=leak(by_arithmetic), databases=WIDE),
    "a value by its hash, 1 of 256": Needle(run=leak(by_hash), databases=WIDE),
    "a palindrome": Needle(run=leak(palindrome), databases=VALUES),
}


def from_the_end(database: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
    """A sparse vector without noise on its queries, which are the records, the last first."""
    threshold = rng.laplace(scale=1.1, size=1 if size is None else size)
    found = np.full(threshold.shape, len(database))
    for place in range(len(database)):
        met = (database[-1 - place] >= threshold) & (found == len(database))
        found[met] = place
    return int(found[0]) if size is None else found


def seldom_thrice(database: Any, rng: np.random.Generator, *, size: Any = None) -> Any:
    seldom = rng.random(size) < 0.01 if any(database.count(v) >= 3 for v in database) else 0
    return len(database) + 100 * seldom + rng.laplace(scale=1.1, size=size)


def twin_tops(database: Any) -> bool:
    return len(database) >= 12 and max(database) > 70 and sorted(database)[-2] == max(database)


def three_fields(database: Any) -> bool:
    return any(p["age"] > 64 and p["city"] == "larch" and p["pay"] > 90_000 for p in database)


def three_codes(database: Any) -> bool:
    return any((a, b) == (7, "fir") and c < -250 for a, b, c in database)


def on_an_ordinal(database: Any) -> bool:
    return any(day.toordinal() == 725_413 for day in database)


def large_power(database: Any) -> bool:
    return any(v > 4096 and v & (v - 1) == 0 for v in database)


def ticket(database: Any) -> bool:
    return any(
        len(text) == 8 and text[:2].isupper() and text[:2].isalpha() and text[2:].isdigit()
        for text in database
    )


def plate(database: Any) -> bool:
    return any(re.fullmatch(r"[A-Z]{2}-\d{4}", text) for text in database)


def composed(database: Any) -> bool:
    return any(unicodedata.normalize("NFC", text) != text for text in database)


def two_tops(database: Any) -> bool:
    return len(database) >= 8 and max(database) >= 80 and database.count(max(database)) == 2


def leap_day(database: Any) -> bool:
    return any(day.month == 2 and day.day == 29 for day in database)


def all_ones(database: Any) -> bool:
    return any(v > 1000 and v & (v + 1) == 0 for v in database)


def four_fields(database: Any) -> bool:
    return any(
        p["who"]["age"] < 17 and p["who"]["sex"] == "x" and p["dose"] >= 850 and not p["well"]
        for p in database
    )


STAFF = st.lists(
    st.fixed_dictionaries({
        "age": st.integers(16, 99), "city": st.sampled_from(WORDS), "pay": st.integers(0, 200_000),
    }),
    max_size=40,
)  # fmt: skip
CODES = st.lists(
    st.tuples(st.integers(0, 999), st.sampled_from(WORDS), st.integers(-500, 500)), max_size=20
)
DAYS = st.lists(st.dates(min_value=date(1900, 1, 1), max_value=date(2030, 1, 1)), max_size=9)
DOSES = st.lists(
    st.fixed_dictionaries({
        "who": st.fixed_dictionaries({"age": st.integers(0, 120), "sex": st.sampled_from("fmx")}),
        "dose": st.integers(0, 1000), "well": st.booleans(),
    }),
    max_size=20,
)  # fmt: skip
BITS = st.lists(st.integers(0, 1), min_size=2, max_size=4)
LONG = st.lists(st.integers(0, 10**6), max_size=20)

CORNERS = {
    "records from the last": Needle(run=from_the_end, databases=BITS, options=REPLACE),
    "two equal maxima in a long list": Needle(run=leak(twin_tops), databases=VALUES),
    "three fields of one record": Needle(run=leak(three_fields), databases=STAFF),
    "three places of one tuple": Needle(run=leak(three_codes), databases=CODES),
    "a date by its ordinal": Needle(run=leak(on_an_ordinal), databases=DAYS),
    "a large power of two": Needle(run=leak(large_power), databases=LONG),
    "two capitals and six digits": Needle(run=leak(ticket), databases=FREE),
    "a pattern of the code": Needle(run=leak(plate), databases=FREE),
    "a text that is not NFC": Needle(run=leak(composed), databases=FREE),
    "one call in a hundred, three alike": Needle(run=seldom_thrice, databases=VALUES),
    "one of 300 listed pairs": Needle(run=one_of_many, databases=MANY, options=DECLARED),
    "just two equal maxima": Needle(run=leak(two_tops), databases=VALUES),
    "29 February by month and day": Needle(run=leak(leap_day), databases=DAYS),
    "one less than a power of two": Needle(run=leak(all_ones), databases=LONG),
    "four fields, two of them nested": Needle(run=leak(four_fields), databases=DOSES),
    "one call in a hundred, three of 10,000": Needle(run=seldom_thrice, databases=WIDE),
}
"""Conditions on several values at once, and forms of values that are no numbers."""

SOUND = {
    "sound count": Needle(run=leak(lambda d: False), databases=VALUES),
    "sound scalar": Needle(
        run=lambda v, rng, *, size=None: v + rng.laplace(scale=1.01, size=size),
        databases=st.floats(0, 1), options=REPLACE,
    ),
}  # fmt: skip

SETS = {"shaped": SHAPED, "held out": HELD_OUT, "corners": CORNERS, "sound": SOUND}


def measured(needle: Needle, seeds: int, trials: int) -> dict[str, Any]:
    """Found of `seeds`, mean CPU seconds and mean draws of the whole audit."""
    options = {"epsilon": 1.0, "relation": "add-remove", "trials": trials, **needle.options}
    found, draws, cpu, bounds = 0, [], [], []
    for seed in range(seeds):
        start = time.process_time()
        result = audit(needle.run, databases=needle.databases, seed=seed, **options)
        cpu.append(time.process_time() - start)
        found += result.refuted
        draws.append(result.draws)
        bounds.append(result.epsilon_lower)
    return {
        "found": found, "of": seeds, "cpu_seconds": round(float(np.mean(cpu)), 2),
        "draws": int(np.mean(draws)), "least_bound": round(min(bounds), 3),
    }  # fmt: skip


def write(path: str, rows: list[dict[str, Any]], asked: argparse.Namespace) -> None:
    """Write the rows so far, so that a run that is cut short is not lost."""
    about = {
        "trials": asked.trials, "seeds": asked.seeds, "date": date.today().isoformat(),
        "python": platform.python_version(), "numpy": np.__version__,
        "machine": platform.machine(), "rows": rows,
    }  # fmt: skip
    with open(path, "w", encoding="utf-8") as file:
        json.dump(about, file, indent=1)


def main() -> None:
    """Print the table; write the JSON."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("classes", nargs="*", help="parts of names; all classes without any")
    parser.add_argument("--seeds", type=int, default=10)
    parser.add_argument("--trials", type=int, default=200_000)
    parser.add_argument("--json", default="")
    asked = parser.parse_args()
    rows = []
    print(f"{'set':9} {'class':34} {'found':>7} {'CPU s':>6} {'draws':>9}")
    for kind, needles in SETS.items():
        for name, needle in needles.items():
            if asked.classes and not any(part in (name, kind) or part in name
                                         for part in asked.classes):  # fmt: skip
                continue
            row = {"set": kind, "class": name, **measured(needle, asked.seeds, asked.trials)}
            rows.append(row)
            count = f"{row['found']}/{row['of']}"
            print(
                f"{kind:9} {name:34} {count:>7} {row['cpu_seconds']:6.2f} {row['draws']:9,}",
                flush=True,
            )
            if asked.json:
                write(asked.json, rows, asked)


if __name__ == "__main__":
    main()
