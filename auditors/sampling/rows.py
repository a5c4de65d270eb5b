"""Whether the outputs of one `size=` call are what as many single calls would have given.

Judging counts on it: the draws of a call are taken for independent, and for draws of the function
that is called without `size` in production. Three tests look for a breach, each accusing a sound
mechanism with probability at most `LEVEL`; all are exact for any law of outputs, discrete ones and
constants included.

- Ties. Rows of a call and single answers are pooled. If all are draws of one law, the values that
  occur more than once are anybody's: their number among the rows is hypergeometric.
- Dependence. Each of two rows lies below a threshold or not; over many calls, or over disjoint
  pairs of rows of one call, the two answers fill a table of two by two, and Fisher's test is exact
  if they are independent. Rows one, two and three apart and half a call apart are tried.
- Two paths. Single answers and rows are compared below thresholds taken from both together, by
  Fisher's test again.

What the rows of a call share without showing in pairs (a subsample drawn once for the call) shows
between calls, while the audit counts: see `bounds.dispersion`.
"""

import inspect
from contextlib import suppress
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bounds.permutation import upper_tail
from ..errors import ContractError
from ..outputs.encoding import show
from ..outputs.features import Column, Feature
from ..outputs.outputs import Outputs
from ..results import Pair
from .capture import captured
from .contract import Watch, guarded
from .sampling import Sampler, generator, pair_key

LEVEL = 1e-6
"""Probability that one of the three tests accuses a mechanism whose rows are as they must be."""

CALLS = 256
ROWS = 4096
LEAST_ROWS = 64
ROOM = 1 << 26
"""Bytes that the rows of one call may take together; wider outputs are looked at in fewer rows."""
MOST_COLUMNS = 8
INSIDE = (0.25, 0.5, 0.75)
ACROSS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)

Codes = NDArray[np.int64]


def check_rows(sampler: Sampler, pair: Pair) -> None:
    """Compare the two ways to call a vectorised mechanism; ContractError says what differs.

    Done on the larger of the two databases, on streams of their own. A mechanism without `size=`
    has one way only, and nothing is drawn.
    """
    if not sampler.vectorised:
        return
    side = int(_length(pair.neighbour) > _length(pair.database))
    single, couples, batch = _drawn(sampler, pair, side)
    features = _features(batch)
    columns = [_codes([o.column(f) for o in (single, couples, batch)]) for f in features]
    for feature, (singles, _, rows) in zip(features, columns, strict=True):
        _require_no_ties(feature, singles, rows, LEVEL / len(columns))
    for feature, (singles, twos, rows) in zip(features, columns, strict=True):
        _require_independence(feature, singles, twos, rows, LEVEL / len(columns))
    for feature, (singles, twos, rows) in zip(features, columns, strict=True):
        for others in (rows, twos[::2]):
            p = _difference(singles, others)
            if p < LEVEL / (2 * len(columns)):
                raise ContractError(
                    "called with size= the mechanism has another law than called without: "
                    f"{_examples(feature, single, batch)}. That single calls and the rows of a "
                    f"size= call have one law has probability below {LEVEL:g}; make both paths "
                    "draw the same noise, or take the size argument away to judge single calls"
                )


def _length(database: Any) -> int:
    return len(database) if hasattr(database, "__len__") else 0


def _drawn(sampler: Sampler, pair: Pair, side: int) -> tuple[Outputs, Outputs, Outputs]:
    """Single answers, rows of calls with size=2 (two by two), and the rows of one large call."""
    database, key = (pair.database, pair.neighbour)[side], pair_key(pair)

    def rng(part: int, index: int) -> np.random.Generator:
        return generator(sampler.seed, key, "rows", side, part, index)

    def call(part: int, index: int, size: int) -> Outputs:
        watch.arm()
        return Outputs.of(captured(sampler.run(database, rng(part, index), size=size)), size)

    def affordable() -> int:
        made = sampler.run(database, rng(3, 0), size=1)
        return max(LEAST_ROWS, min(ROWS, ROOM // max(1, getattr(made, "nbytes", 1))))

    watch = Watch(sampler.limit)
    with guarded(database, seeded=sampler.seeded, rng=rng(4, 0)), watch.running():
        batch = call(2, 0, affordable())
        couples = Outputs.concatenate([call(1, index, 2) for index in range(CALLS)])
        singles: list[Any] | None = None
        if _size_may_be_left_out(sampler.run):
            with suppress(Exception):
                # A function that cannot be called without size has one path only.
                singles = []
                for index in range(CALLS):
                    watch.arm()
                    singles.append(captured(_bare(sampler.run(database, rng(0, index)))))
    if singles is not None and len(singles) == CALLS:
        single = Outputs.of_list(singles)
    else:
        with guarded(database, seeded=sampler.seeded, rng=rng(4, 1)), watch.running():
            single = Outputs.concatenate([call(0, index, 1) for index in range(CALLS)])
    sampler.tally.add(len(batch) + len(couples) + len(single))
    return single, couples, batch


def _bare(value: Any) -> Any:
    """A single answer as a row would be: an array without axes is the number it holds."""
    if isinstance(value, np.ndarray) and value.ndim == 0:
        return value[()]
    if type(value) in (list, tuple):
        return type(value)(map(_bare, value))
    if type(value) is dict:
        return {key: _bare(item) for key, item in value.items()}
    return value


def _size_may_be_left_out(run: Any) -> bool:
    # With another default than None there is no call that gives one bare output.
    return inspect.signature(run).parameters["size"].default is None


def _features(batch: Outputs) -> list[Feature]:
    paths = batch.paths()
    chosen = np.unique(np.linspace(0, len(paths) - 1, MOST_COLUMNS).round().astype(int))
    return [Feature(path=paths[index]) for index in chosen]


def _codes(columns: list[Column]) -> list[Codes]:
    """Whole numbers for the entries of columns: equal for equal entries, in order for numbers."""
    labels = sorted({name for column in columns for name in column.names})
    places = {name: place for place, name in enumerate(labels)}
    numbers = np.concatenate([np.asarray(column.values, dtype=float) for column in columns])
    distinct, codes = np.unique(numbers, return_inverse=True)
    start, found = 0, []
    for column in columns:
        own = codes[start : start + len(column.values)].astype(np.int64)
        start += len(column.values)
        if column.codes is not None:
            names = np.array([places[name] for name in (*column.names, *labels[:1])])
            own = np.where(column.codes < 0, own, len(distinct) + names[column.codes])
        found.append(own)
    return found


def _require_no_ties(feature: Feature, singles: Codes, rows: Codes, level: float) -> None:
    pooled = np.concatenate([singles, rows])
    _, inverse, counts = np.unique(pooled, return_inverse=True, return_counts=True)
    tied = counts[inverse] > 1
    among = int(tied[len(singles) :].sum())
    p = _tail(among, int(tied.sum()), len(rows), len(pooled))
    if p < level:
        alone = int(tied.sum()) - among
        raise ContractError(
            f"the rows of one size= call are not independent: {feature} repeats in {among:,} of "
            f"{len(rows):,} rows, and in {alone} of {len(singles)} single "
            f"answers (probability below {LEVEL:g} for independent rows); draw new randomness for "
            "every row"
        )


def _require_independence(
    feature: Feature, singles: Codes, twos: Codes, rows: Codes, level: float
) -> None:
    half = len(rows) // 2
    couples = {"the two rows of calls with size=2": (twos[::2], twos[1::2])}
    for apart in (1, 2, 3):
        starts = np.arange(0, len(rows) - apart, 2 * apart)
        first = (starts[:, None] + np.arange(apart)).ravel()
        first = first[first + apart < len(rows)]
        couples[f"rows {apart} apart in one call"] = (rows[first], rows[first + apart])
    couples["rows half a call apart"] = (rows[:half], rows[half : 2 * half])
    cuts = np.unique(np.quantile(singles, INSIDE, method="lower"))
    for where, (one, two) in couples.items():
        for cut in cuts:
            a, b = one <= cut, two <= cut
            p = _fisher(int((a & b).sum()), int(a.sum()), int(b.sum()), len(a))
            if p < level / (len(couples) * len(INSIDE)):
                same = int((a == b).sum())
                expected = float(a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean()))
                raise ContractError(
                    f"the rows of one size= call are not independent: {where} fall on the same "
                    f"side of a threshold of {feature} in {same:,} of {len(a):,} cases where "
                    f"independent rows would in about {expected * len(a):,.0f} (probability below "
                    f"{LEVEL:g}); draw new randomness for every row"
                )


def _difference(one: Codes, two: Codes) -> float:
    """p-value of both being draws of one law: Fisher's test below several thresholds."""
    pooled = np.concatenate([one, two])
    cuts = np.unique(np.quantile(pooled, ACROSS, method="lower"))
    p = min(
        _fisher(int((one <= cut).sum()), len(one), int((pooled <= cut).sum()), len(pooled))
        for cut in cuts
    )
    return p * len(ACROSS)


def _fisher(both: int, first: int, second: int, everything: int) -> float:
    """Two-sided p-value of a table of two by two, given its margins."""
    upper = _tail(both, second, first, everything)
    lower = _tail(first - both, everything - second, first, everything)
    return 2 * min(upper, lower)


def _tail(hits: int, among: int, drawn: int, everything: int) -> float:
    if among in (0, everything) or drawn in (0, everything):
        return 1.0
    return float(upper_tail(np.array([hits]), np.array([among]), drawn, everything)[0])


def _examples(feature: Feature, single: Outputs, batch: Outputs) -> str:
    some = [show([row for row in outputs.rows(3)]) for outputs in (single, batch)]
    name = "" if not feature.path else f" ({feature})"
    return f"single calls give outputs{name} like {some[0]}, rows of a call like {some[1]}"
