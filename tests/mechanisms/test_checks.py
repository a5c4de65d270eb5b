import numpy as np
import pytest

from dpwitness.mechanisms._checks import label_array, require_positive, sample_shape


@pytest.mark.parametrize(
    ("size", "shape"), [(None, ()), (5, (5,)), (np.int64(5), (5,)), ((2, 3), (2, 3)), ((), ())]
)
def test_sample_shape(size, shape):
    assert sample_shape(size) == shape


def test_sample_shape_refuses_fractions():
    with pytest.raises(TypeError):
        sample_shape(2.5)


def test_the_first_bad_parameter_is_named():
    require_positive(epsilon=1, sensitivity=1e-300)
    with pytest.raises(ValueError, match=r"^sensitivity must be positive, got -2$"):
        require_positive(epsilon=1, sensitivity=-2, scale=-3)


@pytest.mark.parametrize(
    ("values", "kind"),
    [((1, 2), "i"), ((0.5, 1.0), "f"), (("a", "bc"), "U"), ((True, False), "b"), ((1, "a"), "O")],
)
def test_label_array_keeps_values_apart(values, kind):
    labels = label_array(values)
    assert labels.dtype.kind == kind
    assert labels.shape == (2,)
    assert labels.tolist() == list(values)


def test_label_array_does_not_open_tuples():
    assert label_array([(0, 1), (1, 0)]).tolist() == [(0, 1), (1, 0)]
