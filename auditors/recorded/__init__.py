"""Verdicts from recorded samples, without a mechanism to call.

`judge_samples` tests a privacy claim on outputs recorded under two databases; the first part of
each sample teaches an event and the rest judges it, once.
"""

from .judge_samples import Judged, judge_samples

__all__ = ["Judged", "judge_samples"]
