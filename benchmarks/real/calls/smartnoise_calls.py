"""smartnoise-synth: the covariance of two columns, loaded alone, without the models beside it."""

import importlib.util
import site
from pathlib import Path

import pandas as pd

HOME = next(place for one in site.getsitepackages() if (place := Path(one) / "snsynth").is_dir())
SPEC = importlib.util.spec_from_file_location("covariance", HOME / "models" / "dp_covariance.py")
MODULE = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(MODULE)
RANGES = pd.DataFrame({0: [0.0, 1.0], 1: [0.0, 1.0]})


def covariance(rows, rng):
    """The released variance of the first of two columns whose range is said to be [0, 1]."""
    data = pd.DataFrame(rows, columns=["a", "b"])
    query = MODULE.DPcovariance(len(rows), ["a", "b"], RANGES, 1.0)
    return float(query.release(data)[0])
