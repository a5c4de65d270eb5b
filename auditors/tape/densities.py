"""Log densities of what a generator draws, as far as the held tape moves it.

Each function takes values and the parameters of numpy's method of that name, broadcast; it gives
-inf outside the support. What is not here is replayed as it was drawn, and only where its
parameters are equal.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import betaln, gammaln, xlog1py, xlogy

Floats = NDArray[np.float64]


def _laplace(x: Floats, loc: Floats, scale: Floats) -> Floats:
    return -np.abs(x - loc) / scale - np.log(2 * scale)


def _normal(x: Floats, loc: Floats, scale: Floats) -> Floats:
    return -0.5 * ((x - loc) / scale) ** 2 - np.log(scale)


def _gumbel(x: Floats, loc: Floats, scale: Floats) -> Floats:
    z = (x - loc) / scale
    return -z - np.exp(-z) - np.log(scale)


def _logistic(x: Floats, loc: Floats, scale: Floats) -> Floats:
    z = np.abs(x - loc) / scale
    return -z - 2 * np.log1p(np.exp(-z)) - np.log(scale)


def _exponential(x: Floats, scale: Floats) -> Floats:
    return np.where(x >= 0, -x / scale - np.log(scale), -np.inf)


def _gamma(x: Floats, shape: Floats, scale: Floats) -> Floats:
    inside = xlogy(shape - 1, x / scale) - x / scale - gammaln(shape) - np.log(scale)
    return np.where(x > 0, inside, -np.inf)


def _beta(x: Floats, a: Floats, b: Floats) -> Floats:
    inside = xlogy(a - 1, x) + xlog1py(b - 1, -x) - betaln(a, b)
    return np.where((x > 0) & (x < 1), inside, -np.inf)


def _uniform(x: Floats, low: Floats, high: Floats) -> Floats:
    return np.where((x >= low) & (x <= high), -np.log(high - low), -np.inf)


def _standard_cauchy(x: Floats) -> Floats:
    return -np.log1p(x**2)


def _standard_t(x: Floats, df: Floats) -> Floats:
    scale = gammaln((df + 1) / 2) - gammaln(df / 2) - np.log(df) / 2
    return scale - (df + 1) / 2 * np.log1p(x**2 / df)


def _whole(x: Floats, inside: Any, value: Any) -> Floats:
    return np.where(inside & (x == np.floor(x)), value, -np.inf)


def _integers(x: Floats, low: Floats, high: Floats) -> Floats:
    return _whole(x, (x >= low) & (x < high), -np.log(high - low))


def _geometric(x: Floats, p: Floats) -> Floats:
    return _whole(x, x >= 1, xlog1py(x - 1, -p) + np.log(p))


def _poisson(x: Floats, lam: Floats) -> Floats:
    return _whole(x, x >= 0, xlogy(x, lam) - lam - gammaln(x + 1))


def _binomial(x: Floats, n: Floats, p: Floats) -> Floats:
    ways = gammaln(n + 1) - gammaln(x + 1) - gammaln(n - x + 1)
    return _whole(x, (x >= 0) & (x <= n), ways + xlogy(x, p) + xlog1py(n - x, -p))


LOG_DENSITY: dict[str, Callable[..., Floats]] = {
    "laplace": _laplace, "normal": _normal, "gumbel": _gumbel, "logistic": _logistic,
    "exponential": _exponential, "gamma": _gamma, "beta": _beta, "uniform": _uniform,
    "standard_cauchy": _standard_cauchy, "standard_t": _standard_t, "integers": _integers,
    "geometric": _geometric, "poisson": _poisson, "binomial": _binomial,
}  # fmt: skip

PARAMETERS: dict[str, tuple[tuple[str, float | None], ...]] = {
    "laplace": (("loc", 0.0), ("scale", 1.0)), "normal": (("loc", 0.0), ("scale", 1.0)),
    "gumbel": (("loc", 0.0), ("scale", 1.0)), "logistic": (("loc", 0.0), ("scale", 1.0)),
    "exponential": (("scale", 1.0),), "gamma": (("shape", None), ("scale", 1.0)),
    "beta": (("a", None), ("b", None)), "uniform": (("low", 0.0), ("high", 1.0)),
    "standard_cauchy": (), "standard_t": (("df", None),), "geometric": (("p", None),),
    "poisson": (("lam", 1.0),), "binomial": (("n", None), ("p", None)),
}  # fmt: skip
"""Names and defaults of the parameters that stand before `size`."""

WHOLE = frozenset({"integers", "geometric", "poisson", "binomial"})
"""Laws of whole numbers."""
UNITS = {
    "standard_normal": ("normal", (0.0, 1.0)), "standard_exponential": ("exponential", (1.0,)),
    "random": ("uniform", (0.0, 1.0)),
}  # fmt: skip
"""Methods that draw another's law with fixed parameters."""
