"""How a mean grows: its values and its bound on logarithmic axes, where a power is a line."""

from typing import TYPE_CHECKING

import numpy as np

from ...auditors.claims.derive import slope_weights
from ...mechanisms.model import GrowthClaim
from ..drawing.svg import label_text
from ..statements.statements import Statement, columns_of
from . import marks
from .marks import PendingPicture

if TYPE_CHECKING:
    from matplotlib.axes import Axes


def growth_figure(statement: Statement) -> PendingPicture:
    """The mean at each point with its limits, the fitted line and the bound."""
    claim, rows = statement.claim, list(columns_of(statement.result))
    assert isinstance(claim, GrowthClaim)
    x, bound, mean, low, high = (
        np.array([row[name] for row in rows], dtype=float)
        for name in ("x", "bound", "mean", "low", "high")
    )
    found = statement.result.finding
    assert found.measured is not None
    positive = bool((mean > 0).all())

    def paint(axes: "Axes") -> None:
        marks.bound_curve(axes, x, bound)
        marks.measured_points(axes, x, mean, low, high)
        if positive:
            slope = float(slope_weights(x) @ np.log(mean))
            middle = np.log(mean).mean() - slope * np.log(x).mean()
            marks.measured_curve(axes, x, np.exp(middle + slope * np.log(x)), "fitted line")
        known = [*bound, *mean[mean > 0], *low[low > 0]]
        marks.log_axis(axes, "x", float(x.min()) / 1.15, float(x.max()) * 1.15)
        marks.log_axis(axes, "y", min(known) / 1.3, max(known) * 1.3)
        axes.set_xlabel(label_text(claim.over))
        axes.set_ylabel(label_text(claim.grows))

    return PendingPicture(
        key="growth",
        title="Growth",
        caption=(
            f"A power is a line here. The line through the means has the slope "
            f"{found.measured.value:.3g}, between {found.measured.low:.3g} and "
            f"{found.measured.high:.3g} but for chance {found.error:.2g}; that through the bound "
            f"has {found.claimed:.3g}."
        ),
        paint=paint,
    )
