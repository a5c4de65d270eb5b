"""`dpwitness estimate`: what a mechanism is proved to lose, told and written."""

from collections.abc import Collection, Iterator, Mapping
from math import isfinite

from ...auditors.privacy.estimate import EpsilonEstimate, estimate
from ...auditors.privacy.request import require_one
from ..faces import as_text, wording
from ..formats import table
from ..formats.plain import tell
from ..formats.told import Told
from ..record import evidence
from ..sharding.options import engine_of
from ..shell.console import Console
from ..targets import targets
from ..writing.terminal import printable
from .commands import Request, database_of

POINTS, WIDTH = 6, 80
"""Points of the curve that are told, of which the evidence has all; columns of a file."""


def run(
    console: Console, target: str, options: Mapping[str, object], *, paths: Mapping[str, str | None]
) -> int:
    """Bound what the target loses, write evidence and page if asked, tell it; the exit status.

    `options` are those of `estimate` as typed: `databases` still a name, `pair` still two JSON
    texts.
    """
    table.require_places(paths)
    engine: Request = {key: value for key, value in options.items() if value is not None}
    where = engine_of(engine)
    found = targets.find_target(target, engine.get("timeout", 10.0))
    require_one(engine.get("pair"), engine.get("databases"))
    if "databases" in engine:
        engine["databases"] = targets.find_databases(engine["databases"])
    if "pair" in engine:
        one, two = engine["pair"]
        engine["pair"] = (database_of(one, "first"), database_of(two, "second"))
    if "seconds" in engine:
        engine["seconds"] = console.left_of(engine["seconds"])
    made = estimate(
        found.mechanism,
        **engine,
        progress=console.progress,
        news=console.news,
        target=found.text,
        name=found.name,
        engine=where,
    )
    kept = table.evidence_file(paths)
    replay = "" if kept is None else targets.replay_command(kept, target)
    data = document(made, replay)
    wanted = {name for name in ("mu", "rho", "curve", "delta") if name in engine}
    told = Told(
        command="estimate",
        cases=(),
        reasons=(),
        closing="",
        document=data,
        page=lambda: page(made, data, wanted, replay),
        text=render(made, replay, WIDTH, wanted),
    )
    text = headline(made) if console.quiet else render(made, replay, console.width, wanted)
    return tell(console, paths, told, text)


def document(made: EpsilonEstimate, replay: str) -> dict[str, object]:
    """The evidence of the bound with the curve beside it."""
    return {**evidence.document([made.result], replay=replay), "estimate": to_json(made)}


def to_json(made: EpsilonEstimate) -> dict[str, object]:
    """The bound and the curve as JSON data; the counts are in the result beside it."""
    curve = made.curve
    return {
        "epsilon_lower": made.epsilon_lower,
        "delta": made.delta,
        "alpha": made.alpha,
        "curve": None
        if curve is None
        else {
            "epsilons": list(curve.epsilons),
            "delta_lower": list(curve.delta_lower),
            "mu_lower": curve.mu_lower,
            "rho_lower": curve.rho_lower if isfinite(curve.rho_lower) else "inf",
            "rho_order": curve.rho_order,
            "alpha": curve.alpha,
            "draws": curve.draws,
        },
    }


def page(
    made: EpsilonEstimate, data: Mapping[str, object], wanted: Collection[str], replay: str
) -> str:
    """The estimate as a page with its picture; `data` is its evidence document."""
    from ..faces import as_html

    lines = list(_bounds(made, wanted))
    return as_html.render_estimate(made, data, head=headline(made), lines=lines, replay=replay)


def headline(made: EpsilonEstimate) -> str:
    """The bound in a sentence."""
    name = printable(made.result.mechanism)
    if made.epsilon_lower <= 0:
        return f"No privacy loss of {name} found."
    at = f" at delta {made.delta:g}" if made.delta else ""
    return f"The privacy loss of {name} is at least {wording.at_least(made.epsilon_lower)}{at}."


def render(
    made: EpsilonEstimate, replay: str, width: int, wanted: Collection[str] = ("curve",)
) -> str:
    """The whole story, no line longer than `width`; `wanted` names the bounds to tell besides."""
    return as_text.told(headline(made), _story(made, wanted), width, replay=replay)


def _story(made: EpsilonEstimate, wanted: Collection[str]) -> Iterator[tuple[str, str]]:
    result, witness = made.result, made.witness
    relation, distance = result.claim.relation.value, result.claim.distance
    steps = f", {distance} steps apart" if distance > 1 else ""
    yield "pairs", f"{relation}{steps}"
    if witness is not None and witness.evidence is not None:
        for label, database in (("D", witness.database), ("D'", witness.neighbour)):
            yield label, wording.database_phrase(database)
        yield "event", printable(witness.event.describe())
        for name, phrase in zip(("D", "D'"), wording.count_phrases(result), strict=False):
            yield "", f"under {name} in {phrase}"
    yield from _bounds(made, wanted)


def _bounds(made: EpsilonEstimate, wanted: Collection[str]) -> Iterator[tuple[str, str]]:
    """The bounds, how they were found and what they leave open."""
    result = made.result
    at = f" at delta {made.delta:g}" if made.delta else ""
    least = wording.at_least(max(0.0, made.epsilon_lower))
    held = "" if made.curve is None else "; all bounds below hold together with it"
    sure = f"with {100 * (1 - made.alpha):.6g} % confidence"
    yield "bound", f"epsilon >= {least}{at}, {sure}{held}"
    if made.curve is not None:
        for name, bound in (("mu", made.curve.mu_lower), ("rho", made.curve.rho_lower)):
            if name in wanted:
                order = made.curve.rho_order if name == "rho" else None
                how = "" if order is None else f", by a moment of order {order:g} of all outputs"
                yield name, f"at least {wording.at_least(bound)}, of this pair{how}"
    if made.curve is not None and {"curve", "delta"} & set(wanted):
        known = [
            (epsilon, delta)
            for epsilon, delta in zip(made.curve.epsilons, made.curve.delta_lower, strict=True)
            if delta > 0
        ]
        every = max(1, len(known) // POINTS)
        for index, (epsilon, delta) in enumerate(known[::every]):
            yield "" if index else "curve", f"at epsilon {epsilon:g}, delta >= {delta:.3g}"
        if not known:
            yield "curve", "no delta is shown at any epsilon"
    for index, sentence in enumerate(wording.search_sentences(result)):
        yield "" if index else "search", sentence
    yield "limits", "A lower bound: the true loss may be larger. It proves no privacy."
    if result.note:
        yield "note", printable(result.note)
