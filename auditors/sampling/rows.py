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

No verdict is given before both databases of the pair have passed. To keep that cheap where a claim
is grossly violated, `opened` makes the first single answers and pairs of rows before the judging,
which learns from them, and `check_rows` tests them with the rows that the judging drew itself; only
an audit that drew more pays for more single calls and for one large call of its own. How many are
compared, the judging's draws decide: one of `CHOICES`. Each of them is exact by itself, and the
level is shared among them.

Most mechanisms answer a call with size=1 by the very answer of a single call from the same state of
the generator. Those that do not (`one_path`) are called singly sixteen times as often, and what
refutes their claim is counted among single calls too: see `paths`.
"""

import inspect
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..bounds.permutation import upper_tail
from ..errors import ContractError
from ..outputs.encoding import show
from ..outputs.features import Column, Feature
from ..outputs.outputs import Outputs
from ..results import Pair
from .calls import generator, pair_key
from .capture import captured
from .contract import MechanismRaised, Watch, guarded
from .sampling import Sampler

LEVEL = 1e-6
"""Probability that one of the three tests accuses a mechanism whose rows are as they must be, on
either of two databases."""

FEWEST_CALLS = 48
SIZES = (64, 128, 256, 512, 1024, 2048, 4096)
"""Rows that may be compared."""
CHOICES = 25
"""Numbers of single calls and of rows that the course of a judging can lead to; the level is shared
among them.

Of the judging's own rows: 48 single calls and 64, 128, 256 or 512 rows; 64 and 64 to 1,024; 128 and
1,024 or 2,048; 256 (where there are two paths, 512 or 1,024 too) and 2,048 or 4,096. Of one large
call: 48 or 64 single calls and 64 rows; 128 and 2,048; 256 (or 512 to 4,096) and 4,096.
"""
PROBES = 8
"""Calls of each way that start from one state."""
A_CALL = 16
"""Draws of an audit for which one single call, and one call with size=2, is made."""
GROSS = 1024
"""Draws a side up to which 64 of the judging's own rows do, and beyond half of those wanted."""
CHEAP = 16_384
"""Draws a side up to which the judging's own rows are tested where they are enough, and no large
call is made: a call of 4,096 rows would cost as much as the judging."""
ROOM = 1 << 26
"""Bytes that the rows of one call may take together; wider outputs are looked at in fewer rows."""
MOST_COLUMNS = 8
INSIDE = (0.25, 0.5, 0.75)
ACROSS = (0.05, 0.1, 0.25, 0.5, 0.75, 0.9, 0.95)

Codes = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Opening:
    """The first draws of one database: single answers, and rows of calls with size=2."""

    single: Outputs
    couples: Outputs

    @property
    def draws(self) -> Outputs:
        """All of them, rows first, as ordinary draws."""
        return Outputs.concatenate([self.couples, self.single])


Openings = tuple[Opening, Opening]


def opened(sampler: Sampler, pair: Pair) -> Openings | None:
    """The first draws of both databases; None where there is only one way to call."""
    if not sampler.vectorised:
        return None
    one, two = (_opened(sampler, pair, side, range(FEWEST_CALLS)) for side in (0, 1))
    return one, two


def check_rows(
    sampler: Sampler,
    pair: Pair,
    opening: Openings | None = None,
    drawn: tuple[Outputs, Outputs] | None = None,
    made: int = SIZES[-1],
    sides: tuple[int, ...] = (0, 1),
    calls: int | None = None,
) -> None:
    """Compare the two ways to call a vectorised mechanism; ContractError says what differs.

    `opening` is what `opened` gave and `drawn` rows of calls with size= made since, both sides.
    `made` is how many draws a side were made in all; it decides how many single calls, and calls
    with size=2, are made beside them, unless `calls` does. Done on both databases, or on the
    `sides` named, on streams of its own. A mechanism without `size=` has one way only: nothing is
    drawn.
    """
    if not sampler.vectorised:
        return
    size = max((size for size in SIZES if size <= made), default=SIZES[0])
    begun = range(calls or FEWEST_CALLS)
    for side in sides:
        first = opening[side] if opening else _opened(sampler, pair, side, begun)
        batch = drawn[side] if drawn is not None else None
        enough = size // A_CALL
        if size == SIZES[-1] and not one_path(sampler, pair, side):
            enough = max(other for other in SIZES if other <= made // A_CALL)
        if calls is None and enough > FEWEST_CALLS:
            more = _opened(sampler, pair, side, range(len(first.single), enough))
            first = Opening(
                Outputs.concatenate([first.single, more.single]),
                Outputs.concatenate([first.couples, more.couples]),
            )
        few = drawn is not None and size <= GROSS
        if batch is None or made > CHEAP or len(batch) < (SIZES[0] if few else size // 2):
            batch = _batch(sampler, pair, side, SIZES[0] if few else size)
        rows = batch[: max(size for size in SIZES if size <= len(batch))]
        _require_alike(first.single, first.couples, rows, LEVEL / (2 * CHOICES))


def _require_alike(single: Outputs, couples: Outputs, batch: Outputs, level: float) -> None:
    features = _features(batch)
    columns = [_codes([o.column(f) for o in (single, couples, batch)]) for f in features]
    share = level / len(columns)
    for feature, (singles, _, rows) in zip(features, columns, strict=True):
        _require_no_ties(feature, singles, rows, share / 2)
    for feature, (singles, twos, _) in zip(features, columns, strict=True):
        _require_no_ties(feature, singles, twos, share / 2)
    for feature, (singles, twos, rows) in zip(features, columns, strict=True):
        _require_independence(feature, singles, twos, rows, share)
    for feature, (singles, twos, rows) in zip(features, columns, strict=True):
        for others in (rows, twos[::2]):
            p = _difference(singles, others)
            if p < share / 2:
                raise ContractError(
                    "called with size= the mechanism has another law than called without: "
                    f"{_examples(feature, single, batch)}. That single calls and the rows of a "
                    f"size= call have one law has probability below {LEVEL:g}; make both paths "
                    "draw the same noise, or take the size argument away to judge single calls"
                )


@dataclass(frozen=True, slots=True)
class Calling:
    """How the checks call the mechanism on one database of a pair."""

    sampler: Sampler
    database: Any
    key: int
    side: int

    @classmethod
    def of(cls, sampler: Sampler, pair: Pair, side: int) -> "Calling":
        """Calls on one side of the pair, each on a stream that part and index name."""
        return cls(sampler, (pair.database, pair.neighbour)[side], pair_key(pair), side)

    def rng(self, part: int, index: int) -> np.random.Generator:
        """The generator of one call."""
        return generator(self.sampler.seed, self.key, "rows", self.side, part, index)

    def rows(self, watch: Watch, part: int, index: int, size: int) -> Outputs:
        """What a call with size= gives."""
        watch.arm()
        made = self.sampler.run(self.database, self.rng(part, index), size=size)
        return Outputs.of(captured(made), size)

    def one(self, watch: Watch, part: int, index: int) -> Any:
        """What a single call gives."""
        watch.arm()
        return captured(_bare(self.sampler.run(self.database, self.rng(part, index))))

    @contextmanager
    def guarded(self, part: int) -> Iterator[Watch]:
        """Where the mechanism may be called."""
        watch = Watch(self.sampler.limit)
        guard = guarded(self.database, seeded=self.sampler.seeded, rng=self.rng(4, part))
        with guard, watch.running():
            yield watch


def _opened(sampler: Sampler, pair: Pair, side: int, calls: range) -> Opening:
    calling = Calling.of(sampler, pair, side)
    singles: list[Any] | None = None
    with calling.guarded(0) as watch:
        couples = Outputs.concatenate([calling.rows(watch, 1, index, 2) for index in calls])
        if _size_may_be_left_out(sampler.run):
            with suppress(Exception):
                # A function that cannot be called without size has one path only.
                singles = [calling.one(watch, 0, index) for index in calls]
    if singles is not None:
        single = like_rows(singles, couples)
    else:
        with calling.guarded(1) as watch:
            single = Outputs.concatenate([calling.rows(watch, 0, index, 1) for index in calls])
    sampler.tally.add(len(couples) + len(single))
    return Opening(single, couples)


def one_path(sampler: Sampler, pair: Pair, side: int) -> bool:
    """Whether single calls and calls with size=1 answer alike, from the same states."""
    if not _size_may_be_left_out(sampler.run):
        return True
    calling = Calling.of(sampler, pair, side)
    with calling.guarded(7) as watch:
        rows = [calling.rows(watch, 7, index, 1) for index in range(PROBES)]
    try:
        with calling.guarded(7) as watch:
            singles = [calling.one(watch, 7, index) for index in range(PROBES)]
    except MechanismRaised:
        return True
    sampler.tally.add(2 * PROBES)
    row = Outputs.concatenate(rows)
    return repr(like_rows(singles, row).rows(PROBES)) == repr(row.rows(PROBES))


def like_rows(singles: list[Any], couples: Outputs) -> Outputs:
    """Single answers as an array would hold them, where the rows of a call are such an array.

    `rng.laplace()` is a float and a row of `rng.laplace(size=2)` a numpy.float64: the way of the
    call decides that, and no database. Left apart, the two would be told apart in every event.
    """
    if len(set(map(type, singles))) == 1 and type(singles[0]) in (bool, int, float, str):
        rows = Outputs.of(np.array(singles), len(singles))
        kinds = [getattr(one.node, "kind", None) for one in (rows, couples)]
        if type(rows.node) is type(couples.node) and kinds[0] == kinds[1]:
            return rows
    return Outputs.of_list(singles)


def _batch(sampler: Sampler, pair: Pair, side: int, most: int) -> Outputs:
    """Rows of one large call, fewer where they are wide."""
    calling = Calling.of(sampler, pair, side)
    with calling.guarded(2) as watch:
        watch.arm()
        made = sampler.run(calling.database, calling.rng(3, 0), size=1)
        size = max(SIZES[0], min(most, ROOM // max(1, getattr(made, "nbytes", 1))))
        batch = calling.rows(watch, 2, 0, size)
    sampler.tally.add(len(batch) + 1)
    return batch


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
            f"the rows of size= calls are not independent: {feature} repeats in {among:,} of "
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
        below = one[:, None] <= cuts, two[:, None] <= cuts
        both = (below[0] & below[1]).sum(axis=0)
        found = fisher(both, below[0].sum(axis=0), below[1].sum(axis=0), len(one))
        for place, p in enumerate(found.tolist()):
            if p < level / (len(couples) * len(INSIDE)):
                a, b = (side[:, place] for side in below)
                same = int((a == b).sum())
                expected = float(a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean()))
                raise ContractError(
                    f"the rows of one size= call are not independent: {where} fall on the same "
                    f"side of a threshold of {feature} in {same:,} of {len(a):,} cases where "
                    f"independent rows would in about {expected * len(a):,.0f} (probability below "
                    f"{LEVEL:g}); draw new randomness for every row"
                )


def _difference(one: Codes, two: Codes) -> float:
    """p-value of both being draws of one law: Fisher's test of several sets of values.

    They lie below a threshold, or between two: other widths show there. Thresholds come from both
    together, of which either is a part drawn at random if they have one law.
    """
    pooled = np.sort(np.concatenate([one, two]))
    cuts = np.quantile(pooled, ACROSS, method="lower")
    middle = len(ACROSS) // 2
    ends = [(-1, cut) for cut in cuts.tolist()]
    ends += list(zip(cuts[:middle].tolist(), cuts[:middle:-1].tolist(), strict=True))
    inside, all_inside = (_between(side, np.array(ends)) for side in (np.sort(one), pooled))
    found = fisher(inside, np.full(len(ends), len(one)), all_inside, len(pooled))
    return float(found.min()) * len(ends)


def _between(ordered: Codes, ends: Codes) -> Codes:
    """How many lie between the ends, above the first of two and not above the second."""
    low, high = ordered.searchsorted(ends, side="right").T
    return high - low


def fisher(both: Codes, first: Codes, second: Codes, everything: int) -> NDArray[np.float64]:
    """Two-sided p-values of tables of two by two, given their margins."""
    hits, among = np.stack([both, first - both]), np.stack([second, everything - second])
    upper, lower = upper_tail(hits, among, first, everything)
    return 2 * np.minimum(upper, lower)


def _tail(hits: int, among: int, drawn: int, everything: int) -> float:
    if among in (0, everything) or drawn in (0, everything):
        return 1.0
    return float(upper_tail(np.array([hits]), np.array([among]), drawn, everything)[0])


def _examples(feature: Feature, single: Outputs, batch: Outputs) -> str:
    some = [show([row for row in outputs.rows(3)]) for outputs in (single, batch)]
    name = "" if not feature.path else f" ({feature})"
    return f"single calls give outputs{name} like {some[0]}, rows of a call like {some[1]}"
