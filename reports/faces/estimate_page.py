"""An estimate as one self-contained page: the bound, and every claim that it rules out.

The picture is a map of claims. A point is (epsilon, delta), epsilon across and delta up, and what
lies below the proved line is false, all at one confidence. A claim that the mechanism states is
the line of the delta that it leaves to each epsilon: it is contradicted where it dips below.
"""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from math import exp, floor, inf, log10
from typing import Any

import numpy as np

from ...auditors.privacy.estimate import EpsilonEstimate
from ...mechanisms.model import PrivacyClaim
from ..drawing.svg import CLAIM, FIRST, INK, figure, legend_above, sketch_figure, svg
from . import wording
from .as_html import SIDES, embedded, sides_of
from .difference import difference
from .templates import page, raw
from .tradeoff import claimed_trade_off

LOWEST = 1e-12
"""No delta below this is drawn."""


def render(
    made: EpsilonEstimate,
    data: Mapping[str, Any],
    *,
    head: str,
    lines: Sequence[tuple[str, str]],
    replay: str,
) -> str:
    """The page of an estimate.

    `data` is its evidence document, which the page carries too; `head` and `lines` are its
    headline and its (label, sentence) lines, and `replay` the command that counts again.
    """
    result = made.result
    pictures = []
    if made.curve is not None and any(made.curve.delta_lower):
        pictures.append(
            ("Claims that these runs rule out", raw(curve_figure(made)), curve_caption(made))
        )
    sketch = result.sketch
    if sketch is not None and any(map(sum, sketch.counts)):
        pictures.append(
            (
                "Outputs of both databases",
                raw(sketch_figure(sketch, ("D", "D′"), key="outputs")),
                f"{sum(map(sum, sketch.counts)):,} outputs from before the counted runs, by "
                f"{sketch.feature}; the event is shaded.",
            )
        )
    counts = wording.shown_counts(result) if made.witness is not None else None
    return page(
        "estimate.html",
        title=head,
        subject=f"privacy estimate, {datetime.now(UTC):%Y-%m-%d %H:%M} UTC",
        head=head,
        sides=sides_of(result),
        difference=difference(wording.shown_pair(result)),
        event=wording.event_phrase(result),
        counts=[
            (side, name, *count)
            for (side, name), count in zip(SIDES, zip(*counts, strict=True), strict=True)
        ]
        if counts
        else [],
        facts=wording.by_label(lines),
        pictures=pictures,
        replay=replay,
        environment=", ".join(f"{name} {value}" for name, value in data["environment"].items()),
        embedded=raw(embedded(data)),
    )


def stated_deltas(claim: PrivacyClaim, epsilons: Sequence[float]) -> list[float]:
    """The delta that a claim leaves to each epsilon: max over q of f(q) - e^epsilon q."""
    q, missed = np.array(claimed_trade_off(claim)).T
    return [float(np.max(1 - missed - exp(epsilon) * q, initial=0.0)) for epsilon in epsilons]


def contradicted(made: EpsilonEstimate, claim: PrivacyClaim) -> bool:
    """Whether the curve lies above what the claim leaves, somewhere."""
    curve = made.curve
    assert curve is not None
    left = stated_deltas(claim, curve.epsilons)
    return any(low > most + 1e-9 for low, most in zip(curve.delta_lower, left, strict=True))


def curve_figure(made: EpsilonEstimate) -> str:
    """Proved delta at every epsilon as the edge of an area, and what is claimed as a line."""
    curve = made.curve
    assert curve is not None
    epsilons, deltas = np.array(curve.epsilons), np.array(curve.delta_lower)
    shown = float(epsilons[deltas > 0].max())
    right = max(shown, *(one.epsilon for one in made.claims[:1]), made.epsilon_lower) * 1.12
    right = min(max(right, 0.1), float(epsilons[-1]) * 1.5)
    least = min(float(deltas[deltas > 0].min()), made.delta or inf)
    floor_ = max(10.0 ** floor(log10(least) - 0.3), LOWEST)
    with figure() as (drawing, axes):
        axes.fill_between(
            epsilons, floor_, np.maximum(deltas, floor_), color=FIRST, alpha=0.16, linewidth=0,
            label="proved false",
        )  # fmt: skip
        axes.plot(epsilons, np.maximum(deltas, floor_ / 10), color=FIRST, linewidth=1.7)
        for claim in made.claims[:1]:
            at = np.linspace(0, right, 300)
            left = np.maximum(stated_deltas(claim, at.tolist()), floor_ / 10)
            axes.plot(at, left, color=CLAIM, linewidth=1.7, linestyle=(0, (5, 2)), label="claim")
        if made.delta and made.epsilon_lower > 0:
            axes.plot(
                [made.epsilon_lower], [made.delta], color=INK, marker="o", markersize=5,
                linestyle="none", label="bound",
            )  # fmt: skip
        axes.set_yscale("log")
        axes.set_xlim(0, right)
        axes.set_ylim(floor_, 1)
        axes.set_xlabel("epsilon (nats)")
        axes.set_ylabel("delta (log scale)")
        legend_above(axes)
        return svg(
            drawing,
            "curve",
            "Claims that these runs rule out",
            f"Lower bound on delta at every epsilon: {deltas[0]:.3g} at epsilon 0, and above 0 up "
            f"to epsilon {shown:.3g}.",
        )


def curve_caption(made: EpsilonEstimate) -> str:
    """What to see, and what holds."""
    told = [
        "A point is a claim: epsilon across, delta up. Every claim in the blue area is false, all "
        f"of them together at {100 * (1 - made.alpha):.6g} % confidence. Above it nothing is "
        "shown: more runs may raise the edge."
    ]
    if made.delta and made.epsilon_lower > 0:
        told.append(f"The dot is the bound at delta {made.delta:g}, from more runs than the edge.")
    for claim in made.claims[:1]:
        where = (
            "it dips into the blue area, so the claim is false"
            if contradicted(made, claim)
            else "where it dips into the blue area the claim is false, and here it does not"
        )
        told.append(f"Green: what {wording.claim_phrase(claim)} leaves to delta; {where}.")
    return " ".join(told)
