"""What databases look like, for every audit of a real library: no pair, no event."""

from hypothesis import strategies as st

from dpwitness.mechanisms.model import Choices, Interval, Value

BIT = Value(row=Choices(values=(0, 1)))
WORD = Value(row=Choices(values=("0", "1")))
NUMBER = Value(row=Interval(low=0, high=1))
UNIT = st.lists(st.floats(0, 1), min_size=1, max_size=8)
OUTSIDE = st.lists(st.floats(-1000, 1000), min_size=2, max_size=12)
RANKED = st.lists(st.floats(-1, 4), min_size=2, max_size=6)
ROWS = st.lists(st.tuples(st.integers(0, 1), st.integers(0, 1)), min_size=2, max_size=6)
SCORES = st.tuples(st.integers(0, 3), st.integers(0, 3))
TWO_COLUMNS = st.lists(
    st.tuples(st.floats(-1000, 1000), st.floats(-1000, 1000)), min_size=3, max_size=10
)
