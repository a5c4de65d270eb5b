"""Verdicts from recorded samples, without a mechanism to call.

`judge_samples` tests a privacy claim on outputs recorded under two databases; the first part of
each sample teaches an event and the rest judges it, once. `judge_kept` does so with the draws of an
audit that ended early, whatever ended it. `scores` counts every threshold of
scores that are single numbers, and `scores_of_one_run` guesses who was in the data of one training.
"""

from .canaries import Scores, Threshold, scores
from .judge_samples import Judged, JudgedKept, judge_kept, judge_samples
from .one_run import Guesses, OneRun, guesses_of_one_run, scores_of_one_run

__all__ = [
    "Guesses",
    "Judged",
    "JudgedKept",
    "OneRun",
    "Scores",
    "Threshold",
    "guesses_of_one_run",
    "judge_kept",
    "judge_samples",
    "scores",
    "scores_of_one_run",
]
