"""Verdicts from recorded samples, without a mechanism to call.

`judge_samples` tests a privacy claim on outputs recorded under two databases; the first part of
each sample teaches an event and the rest judges it, once. `scores` counts every threshold of
scores that are single numbers.
"""

from .canaries import Scores, Threshold, scores
from .judge_samples import Judged, judge_samples

__all__ = ["Judged", "Scores", "Threshold", "judge_samples", "scores"]
