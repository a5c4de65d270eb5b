"""A p-value for an audit that did not refute its claim, for procedures over many audits."""

from math import exp

import numpy as np

from ..bounds.chunked import rejects
from ..results import AuditResult, Verdict
from .judge import E_PROCESS_SHARE, schedule

__all__ = ["p_value"]

LEVELS = 0.4 * 0.8 ** np.arange(140)
"""Levels tried, down to 1e-14."""


def p_value(result: AuditResult) -> float:
    """A number that a true claim makes smaller than any a with probability at most a.

    It is the least level a, on a grid tried from above, at which the audit's two tests would
    have rejected: the e-process at a share E_PROCESS_SHARE of a, by Ville's inequality, or the
    judged counts at the rest. Both are tests of level a, whatever a is, because the draws were
    planned and the events chosen without it; only grid points above which everything is
    rejected count, so P[p <= a] is at most the level of the largest grid point up to a.

    A refuted claim has the level it was refuted at; an inconclusive audit says nothing: 1.
    """
    if result.verdict is Verdict.REFUTED:
        return result.evidence.alpha
    if result.verdict is not Verdict.NOT_REFUTED:
        return 1.0
    claim, evidence = result.claim, result.evidence
    planned = [(size, size) for size in schedule(int(result.plan["trials"]))[1]]
    chunks = [count.oriented for count in evidence.counts]
    best = 1.0
    for level in LEVELS.tolist():
        sequential = exp(-evidence.log_wealth) <= E_PROCESS_SHARE * level
        if not sequential and not (
            chunks
            and rejects(
                chunks,
                epsilon=claim.epsilon,
                delta=claim.delta,
                level=(1 - E_PROCESS_SHARE) * level,
                distance=claim.distance,
                planned=planned,
            )
        ):
            break
        best = level
    return best
