"""A p-value for an audit, for procedures over many audits."""

from math import exp

import numpy as np

from ...mechanisms.model import PrivacyClaim
from ..bounds.two_sample import at_distance, rejects
from ..evidence.derive import log_wealth
from ..results.results import AuditResult, Look, Verdict

LEVELS = 0.4 * 0.8 ** np.arange(140)
"""Levels tried, down to 1e-14."""


def p_value(result: AuditResult) -> float:
    """A number that a true claim makes smaller than any a with probability at most a.

    Every look k of every attempt j was planned with a part v_jk of alpha, and the parts add up to
    at most 1. With p_jk the p-value of the look, min p_jk / v_jk over the looks made is at most a
    only if some p_jk <= v_jk a, which has probability at most a in all. It is computed as the least
    level a, on a grid tried from above, at which the look would have rejected with v_jk a; only
    grid points above which everything is rejected count. The same for refuted claims: the parts
    were planned, whatever alpha was. Of bets p is 1 over the largest wealth, which a true claim
    makes at most a with probability at most a. 1 where nothing was looked at; 0 where the exact
    laws refute.
    """
    if result.exact is not None and result.exact.verdict is Verdict.REFUTED:
        return 0.0
    evidence, claim = result.evidence, result.claim
    found, looks = [1.0], evidence.looks
    if evidence.bets is not None:
        won, looks = log_wealth(evidence.bets.batches, claim), looks[1:]
        found.append(exp(-won) * evidence.alpha / evidence.bets.level)
    return min(found + [_least(look, look.level / evidence.alpha, claim) for look in looks])


def _least(look: Look, part: float, claim: PrivacyClaim) -> float:
    """The least level of the grid at which this look rejects, 1 if none."""
    epsilon, delta = at_distance(claim.epsilon, claim.delta, claim.steps)
    best = 1.0
    for level in LEVELS.tolist():
        if not rejects(
            look.hits, look.trials, epsilon=epsilon, delta=delta, level=min(part, 1.0) * level
        ):
            break
        best = level
    return best
