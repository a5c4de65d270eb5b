"""What databases look like, for every audit of a real library: no pair, no event."""

from hypothesis import strategies as st

from dpwitness import Pair
from dpwitness.mechanisms.model import Choices, Interval, Value

BIT = Value(row=Choices(values=(0, 1)))
WORD = Value(row=Choices(values=("0", "1")))
NUMBER = Value(row=Interval(low=0, high=1))
UNIT = st.lists(st.floats(0, 1), min_size=1, max_size=8)
OUTSIDE = st.lists(st.floats(-1000, 1000), min_size=2, max_size=12)
RANKED = st.lists(st.floats(-1, 4), min_size=2, max_size=6)
ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=6)
SCORE_PAIRS = st.builds(
    lambda a, b, both: Pair((a, b), (a + 1, b + both)),
    *[st.integers(0, 3)] * 2, st.booleans().map(int),
)  # fmt: skip
"""Two scores of which one record raises the first, or both, by 1."""
TWO_COLUMNS = st.lists(
    st.tuples(st.floats(-1000, 1000), st.floats(-1000, 1000)), min_size=3, max_size=10
)
DIGIT = Value(row=Choices(values=tuple(range(10))))
TRIT = Value(row=Choices(values=(0, 1, 2)))
TWO_TRITS = Value(row=Choices(values=tuple((a, b) for a in range(3) for b in range(3))))
WEIGHTS = st.lists(st.floats(-3, 3), min_size=3, max_size=3)
USERS = st.lists(
    st.lists(st.tuples(st.sampled_from("ab"), st.floats(-5, 5)), min_size=1, max_size=4), max_size=4
)
