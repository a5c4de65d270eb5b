"""The two pictures of a report as SVG text: the outputs of both sides, and how the bound grew.

Text stays text, colours that mean nothing follow the page (`currentColor`), and the same result
gives the same bytes. `figure`, `svg` and `pdf` are what every picture is made with.

A PDF holds the letters that stand in it. Cutting them out of DejaVu takes longer than drawing the
picture: it has tables of ligatures and marks, which pictures do without, and six thousand signs.
So the letters are cut out of a copy that has the usual ones only, kept where matplotlib keeps what
it knows of fonts. A sign that the copy lacks is taken from the font itself.
"""

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from html import escape
from io import BytesIO, StringIO
from math import isfinite
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any

import numpy as np

from ...auditors.evidence.derive import log_wealths
from ...auditors.results.results import AuditResult, Sketch
from ..writing.terminal import printable

if TYPE_CHECKING:
    from matplotlib.artist import Artist
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.ticker import Formatter, Locator
    from numpy.typing import NDArray


FIRST = "#0072B2"
SECOND = "#D55E00"
SIDES = ((FIRST, "D"), (SECOND, "D′"))
"""Colour and name of both sides."""
CLAIM = "#009E73"
INK = "#010203"
"""Stands for the colour of the page's text until the SVG is done."""
EVENT = "#E69F00"
SIZE = (5.2, 3.1)
"""Width and height of a picture, in inches."""
MARGIN = 0.3
"""Around a picture, in letter heights."""
RARE = 0.04
"""Part of the highest bar below which an event is too low to be seen on a linear scale."""
MOST_LABEL = 14
"""Letters of a label under a bar."""
INKED = (
    "axes.edgecolor", "axes.labelcolor", "grid.color", "text.color", "xtick.color", "ytick.color",
)  # fmt: skip
PAPER_INK = "#1c2128"
STYLE: dict[object, object] = {
    "svg.fonttype": "none",
    "svg.hashsalt": "dpwitness",
    "pdf.fonttype": 42,
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "grid.alpha": 0.18,
    "grid.linewidth": 0.8,
    "hatch.linewidth": 0.8,
    **{
        name: INK for name in INKED
    },
}  # fmt: skip
"""Settings of matplotlib for every picture."""
UNUSED = ("GDEF", "GPOS", "GSUB", "FFTM")
USUAL = (
    *range(0x20, 0x180),  # Latin
    *range(0x370, 0x400),  # Greek
    *range(0x2010, 0x2060),  # dashes and quotation marks
    *range(0x2070, 0x20A0),  # superscripts and subscripts
    *range(0x2190, 0x2300),  # arrows and signs of mathematics
)
"""Code points that the copy has, as far as the font has them."""
NAMES = (1, 16)
"""Where a font says the name of its family."""


def sketch_figure(sketch: Sketch, names: tuple[str, str], *, key: str) -> str:
    """Both output distributions on one feature, with the event shaded.

    `names` label the two sides of the sketch; `key` makes ids unique within a page.
    """
    with figure() as (drawing, axes):
        draw_sketch(axes, sketch, names)
        return svg(
            drawing,
            key,
            f"Outputs under {names[0]} and {names[1]}",
            f"Share of outputs per value of {sketch.feature} for both databases; the event is "
            "shaded. The counts are in the table of the evidence.",
        )


def draw_sketch(axes: "Axes", sketch: Sketch, names: tuple[str, str]) -> None:
    """Both output distributions with the event shaded, named axes and a legend."""
    shares = [np.asarray(side, dtype=float) / max(1, sum(side)) for side in sketch.counts]
    rare = _is_rare(sketch, shares)
    if sketch.edges:
        _numeric(axes, sketch, shares, names, filled=not rare)
    else:
        _categorical(axes, sketch, shares, names)
    if rare:
        axes.set_yscale("log")
    axes.set_ylabel("share of outputs" + (" (log scale)" if rare else ""))
    axes.set_xlabel(label_text(sketch.feature))
    legend_above(axes)


def _is_rare(sketch: Sketch, shares: Sequence["NDArray[np.float64]"]) -> bool:
    """Whether the event is too low to be seen on a linear scale."""
    inside = np.asarray(sketch.inside, dtype=bool)
    highest = max(side.max(initial=0.0) for side in shares)
    within = max(side[inside].max(initial=0.0) for side in shares)
    return bool(0 < within < RARE * highest)


def _numeric(
    axes: "Axes",
    sketch: Sketch,
    shares: Sequence["NDArray[np.float64]"],
    names: tuple[str, str],
    *,
    filled: bool,
) -> None:
    edges = _finite_edges(sketch.edges)
    _shade(axes, edges, sketch.inside)
    for share, colour, name, dash in zip(
        shares, (FIRST, SECOND), names, ("-", (0, (4, 1.5))), strict=True
    ):
        if filled:
            axes.stairs(share, edges, fill=True, color=colour, alpha=0.14, linewidth=0)
        axes.stairs(share, edges, color=colour, linewidth=1.4, linestyle=dash, label=name)
    axes.set_xlim(edges[0], edges[-1])


def _finite_edges(edges: Sequence[float]) -> "NDArray[np.float64]":
    """Edges at infinity drawn one bin beyond the last finite one."""
    known = [edge for edge in edges if isfinite(edge)]
    if not known:
        return np.arange(len(edges), dtype=float)
    step = (known[-1] - known[0]) / max(1, len(known) - 1) or 1.0
    placed = [
        edge if isfinite(edge) else known[0] - step if edge < known[0] else known[-1] + step
        for edge in edges
    ]
    return np.asarray(placed)


def _shade(axes: "Axes", edges: "NDArray[np.float64]", inside: Sequence[bool]) -> None:
    label: str | None = "event"
    start = None
    for index, within in enumerate([*inside, False]):
        if within and start is None:
            start = index
        if not within and start is not None:
            axes.axvspan(
                edges[start], edges[index], color=EVENT, alpha=0.22, linewidth=0, label=label
            )
            start, label = None, None


def _categorical(
    axes: "Axes", sketch: Sketch, shares: Sequence["NDArray[np.float64]"], names: tuple[str, str]
) -> None:
    places = np.arange(len(sketch.labels), dtype=float)
    edges = np.linspace(-0.5, len(sketch.labels) - 0.5, len(sketch.labels) + 1)
    _shade(axes, edges, sketch.inside)
    for side, (share, colour, name) in enumerate(zip(shares, (FIRST, SECOND), names, strict=True)):
        axes.bar(
            places + (side - 0.5) * 0.36, share, 0.34, color=colour, label=name,
            hatch="" if side == 0 else "///", edgecolor="white", linewidth=0,
        )  # fmt: skip
    crowded = len(places) > 6 or any(len(label) > 6 for label in sketch.labels)
    labels = [label_text(label, MOST_LABEL) for label in sketch.labels]
    axes.set_xticks(
        places, labels, rotation=35 if crowded else 0, ha="right" if crowded else "center"
    )
    axes.set_xlim(edges[0], edges[-1])


def bets_refute_a_curve(result: AuditResult) -> bool:
    """Whether bets refute a curve: they bound no epsilon, so what they won is drawn."""
    return result.claim.curve is not None and result.evidence.bets is not None


def growth_figure(result: AuditResult, *, key: str) -> str:
    """How the lower bound on epsilon grew with the draws judged, and the claim it is up against.

    If bets refute a curve, how their wealth grew.
    """
    with figure() as (drawing, axes):
        draw_growth(axes, result)
        if bets_refute_a_curve(result):
            return svg(
                drawing,
                key,
                "What bets against the claim won",
                f"The wealth of bets against {result.claim.curve}, which starts at 1, against runs "
                "per database, and the wealth that refutes the claim.",
            )
        claimed = result.claim.epsilon
        return svg(
            drawing,
            key,
            "How the bound grew",
            f"Lower bound on epsilon against runs per database; the claim is {claimed:g}.",
        )


def draw_growth(axes: "Axes", result: AuditResult) -> None:
    """The bounds and the claim, or what bets won, with named axes and a legend."""
    if bets_refute_a_curve(result):
        _draw_wealth(axes, result)
        return
    points = [(draws, bound) for draws, bound in result.growth if isfinite(bound)]
    confirmed = confirmed_bound(result)
    if points:
        axes.plot(
            *zip(*points, strict=True), color=FIRST, marker="o", markersize=4, linewidth=1.6,
            label="lower bound",
        )  # fmt: skip
    if confirmed is not None:
        at = max([draws for draws, _ in points] or [result.evidence.decided_after or 0])
        axes.plot(
            [at], [confirmed], color=SECOND, marker="D", markersize=7,
            linestyle="none", label="bound",
        )  # fmt: skip
    claimed = result.claim.epsilon
    axes.axhline(claimed, color=CLAIM, linewidth=1.6, linestyle=(0, (5, 2)), label="claim")
    highest = max([claimed, confirmed or 0.0, *(bound for _, bound in points)])
    axes.set_ylim(0, 1.12 * highest if highest > 0 else 1)
    axes.set_ylabel("epsilon (nats)")
    _finished(axes)


def _draw_wealth(axes: "Axes", result: AuditResult) -> None:
    """The money of who starts with 1 and bets against the claim, and what refutes it."""
    bets = result.evidence.bets
    assert bets is not None
    money = np.exp(np.minimum(log_wealths(bets.batches, result.claim), 600.0))
    runs = np.cumsum([0, *(batch.draws for batch in bets.batches)])
    axes.plot(runs, money, color=FIRST, linewidth=1.6, label="bets")
    axes.plot(runs[-1:], money[-1:], color=SECOND, marker="D", markersize=7, linestyle="none",
              label="refuted")  # fmt: skip
    needed = 1 / bets.level
    axes.axhline(needed, color=CLAIM, linewidth=1.6, linestyle=(0, (5, 2)), label="needed")
    axes.set_yscale("log")
    axes.set_ylim(min(0.5, 0.5 * money.min()), 4 * max(needed, money.max()))
    axes.set_ylabel("wealth")
    _finished(axes, "runs per database that were bet on")


def _finished(axes: "Axes", runs: str = "runs per database") -> None:
    axes.set_xlim(left=0)
    axes.set_xlabel(runs)
    axes.xaxis.set_major_locator(few_ticks())
    axes.xaxis.set_major_formatter(thousands())
    legend_above(axes)


def confirmed_bound(result: AuditResult) -> float | None:
    """The bound of the pair that was judged, where its claim is refuted.

    A smaller pair may have a larger one, which no point of the curve leads to.
    """
    bound = max((bound for _, bound in result.growth), default=result.epsilon_lower)
    return bound if result.refuted and isfinite(bound) else None


def plotted(result: AuditResult) -> "Figure":
    """Both histograms, where there are any, and the growth of the bound side by side."""
    sketch, paint = result.sketch, [partial(draw_growth, result=result)]
    if sketch is not None and any(map(sum, sketch.counts)):
        paint.insert(0, partial(draw_sketch, sketch=sketch, names=("D", "D'")))
    return on_paper(paint)


def on_paper(paint: Sequence[Callable[["Axes"], None]]) -> "Figure":
    """A figure with axes for each of `paint` side by side, in dark ink."""
    import matplotlib
    from matplotlib.figure import Figure

    style: dict[Any, Any] = {**STYLE, **dict.fromkeys(INKED, PAPER_INK)}
    with matplotlib.rc_context(style):
        drawing = Figure(figsize=(SIZE[0] * len(paint), SIZE[1]), layout="constrained")
        for put, axes in zip(paint, drawing.subplots(1, len(paint), squeeze=False)[0], strict=True):
            put(axes)
        return drawing


def legend_above(
    axes: "Axes", handles: "Sequence[Artist] | None" = None, *, columns: int = 4
) -> None:
    """The names of what is drawn in rows above the picture, right-aligned."""
    axes.legend(
        handles=handles, loc="lower right", bbox_to_anchor=(1.0, 1.0), ncols=columns, frameon=False,
        handlelength=1.4, columnspacing=1.1, borderaxespad=0.2,
    )  # fmt: skip


def few_ticks(*, whole: bool = False) -> "Locator":
    """About five ticks on an axis, at whole numbers only if so wished."""
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(5, integer=whole)


def thousands() -> "Formatter":
    """Numbers on an axis as 500, 20k or 3M."""
    from matplotlib.ticker import FuncFormatter

    def written(value: float, _: object) -> str:
        for unit, name in ((1e6, "M"), (1e3, "k")):
            if abs(value) >= unit:
                return f"{value / unit:g}{name}"
        return f"{value:g}"

    return FuncFormatter(written)


def label_text(label: str, most: int = 60) -> str:
    """A label that matplotlib takes literally: no formulas between dollar signs."""
    clean = printable(label).replace("\n", " ")
    clean = clean if len(clean) <= most else f"{clean[: most - 1]}…"
    return clean.replace("$", r"\$")


@contextmanager
def figure(
    width: float = SIZE[0], size: float = 10.0, *, serif: bool = False
) -> Iterator[tuple["Figure", "Axes"]]:
    """A figure of the object interface: nothing global, no display.

    `width` in inches, the `size` of its letters in points.
    """
    import matplotlib
    from matplotlib.figure import Figure
    from matplotlib.layout_engine import TightLayoutEngine

    families = letters("serif" if serif else "sans-serif")
    style: dict[Any, Any] = {**STYLE, "font.size": size, "font.family": families}
    with matplotlib.rc_context(style):
        # One axes needs the letters measured once; a constrained layout measures them twice.
        layout = TightLayoutEngine(pad=MARGIN)
        drawing = Figure(figsize=(width, width * SIZE[1] / SIZE[0]), layout=layout)
        yield drawing, drawing.add_subplot()


def pdf(drawing: "Figure") -> bytes:
    """The figure as a page of its own size; the same figure gives the same bytes."""
    out = BytesIO()
    drawing.savefig(out, format="pdf", metadata={"CreationDate": None, "Creator": None})
    return out.getvalue()


def svg(drawing: "Figure", key: str, title: str, description: str) -> str:
    """The figure as an SVG element to put into a page, small and without foreign ids."""
    out = StringIO()
    drawing.savefig(
        out,
        format="svg",
        transparent=True,
        metadata={"Date": None, "Creator": None, "Format": None, "Type": None},
    )
    text = out.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    text = text.replace(INK, "currentColor")
    text = re.sub(r"<!--.*?-->\s*", "", text, flags=re.DOTALL)
    # Coordinates need no more than two places; numbers that are text stay as they are.
    text = re.sub(r"<[^>]*>", lambda tag: re.sub(r"(\d+\.\d\d)\d+", r"\1", tag[0]), text)
    used = set(re.findall(r"(?:url\(#|xlink:href=\"#)([^)\"]+)", text))
    text = re.sub(
        r' id="([^"]+)"',
        lambda found: f' id="{key}-{found[1]}"' if found[1] in used else "",
        text,
    )
    text = re.sub(r"(url\(#|xlink:href=\"#)", rf"\g<1>{key}-", text)
    # The page's own letters, and no style sheet that would reach beyond the picture.
    text = re.sub(r"font-family: [^;\"]*", "font-family: inherit", text)
    text = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", text, count=1, flags=re.DOTALL)
    head = re.search(r'viewBox="([^"]+)"', text)
    box = head[1] if head else f"0 0 {72 * SIZE[0]} {72 * SIZE[1]}"
    body = text[text.index(">") + 1 :]
    return (
        f'<svg viewBox="{box}" role="img" aria-labelledby="{key}-title {key}-desc" '
        'stroke-linejoin="round" '
        'xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink">'
        f'<title id="{key}-title">{escape(title)}</title>'
        f'<desc id="{key}-desc">{escape(printable(description))}</desc>{body}'
    )


def letters(kind: str) -> list[str]:
    """The families that matplotlib sets letters of a kind in, "serif" or "sans-serif".

    The copy first, then the kind itself; this alone where there can be no copy.
    """
    import matplotlib
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    font = Path(findfont(FontProperties(family=[kind])))
    copy = Path(matplotlib.get_cachedir()) / f"{font.stem}-{matplotlib.__version__}-usual.ttf"
    name = f"{font.stem} usual letters"
    if any(known.name == name for known in fontManager.ttflist):
        return [name, kind]
    # The copy saves time and nothing else: a font that cannot be cut, or a spoilt copy, costs that.
    with suppress(Exception):
        if not copy.exists():
            _write_letters(font, copy, name)
        fontManager.addfont(copy)
        return [name, kind]
    return [kind]


def _write_letters(font: Path, copy: Path, name: str) -> None:
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    options = Options(
        drop_tables=[*Options().drop_tables, *UNUSED], glyph_names=True, legacy_kern=True,
        name_IDs=["*"], notdef_outline=True, recommended_glyphs=True,
    )  # fmt: skip
    with TTFont(font, lazy=True, recalcBBoxes=False) as whole:
        cutter = Subsetter(options)
        cutter.populate(unicodes=USUAL)
        cutter.subset(whole)
        for record in whole["name"].names:
            if record.nameID in NAMES:
                record.string = name
        # Another process may write it at the same time: it is there whole or not at all.
        with TemporaryDirectory(dir=copy.parent) as folder:
            made = Path(folder) / copy.name
            whole.save(made, reorderTables=None)
            made.replace(copy)
