"""What was found, as every format tells it: written to files, and told on the terminal."""

import ast
import importlib.util
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import groupby
from pathlib import Path

from ...auditors.claims.claim_results import ClaimCheck
from ...auditors.evidence.record import number
from ...auditors.results.results import AuditResult, Verdict
from ..faces import as_text, claim_faces, wording
from ..faces.claim_faces import claims_part
from ..formats import as_github, as_markdown, table
from ..formats.told import Case, Reason, Told, ToldClaim
from ..record import evidence
from ..shell import computed
from ..shell.computed import INCONCLUSIVE, REFUTED, UNUSABLE
from ..shell.console import Console
from ..writing.terminal import printable


@dataclass(frozen=True, slots=True)
class Audited:
    """What was found of one target, with the commands that count it again and audit it anew.

    `beside` are the claims that it makes beside its privacy.
    """

    results: tuple[AuditResult, ...]
    beside: tuple[ClaimCheck, ...]
    replay: str
    rerun: str


def deliver(
    console: Console,
    audited: Sequence[Audited],
    *,
    paths: Mapping[str, str | None],
    github: bool = False,
) -> int:
    """Write and tell. The numbers come first, so that nothing after them can lose them."""
    verdicts = [one.verdict for part in audited for one in part.results]
    verdicts += [one.result.verdict for part in audited for one in part.beside]
    if Verdict.REFUTED in verdicts:
        computed.refuted()
    told = _told(audited)
    numbers = {name: path for name, path in paths.items() if name == "json"}
    saved = table.write(console, told, numbers)
    parts = [text for part in audited for text in _texts(console, part)]
    console.say(("\n" if console.quiet else "\n\n").join(parts))
    if github:
        annotate(console, told)
    others = {name: path for name, path in paths.items() if name != "json"}
    saved = table.write(console, told, others) and saved
    return status_of(verdicts) if saved else UNUSABLE


def _texts(console: Console, part: Audited) -> Iterator[str]:
    """The report of each claim of one target, or its headline."""
    for result in part.results:
        yield (
            wording.headline(result)
            if console.quiet
            else as_text.render(
                result,
                replay=part.replay,
                rerun=part.rerun,
                width=console.width,
                paint=console.paint,
                detail=console.verbose,
            )
        )
    for one in part.beside:
        head = claim_faces.headline(one.result, one.mechanism)
        story = claim_faces.story(one.result)
        step = claim_faces.next_step(one.result.verdict.value, part.rerun)
        yield (
            head
            if console.quiet
            else as_text.told(head, story, console.width, replay=part.rerun, step=step)
        )


def _told(audited: Sequence[Audited]) -> Told:
    results = [result for part in audited for result in part.results]
    replays = [part.replay for part in audited for _ in part.results]
    others = [one for part in audited for one in part.beside]
    data = {**evidence.document(results, replay=replays), **claims_part(others)}

    def page() -> str:
        from ..faces.as_html import render

        reruns = [part.rerun for part in audited for _ in part.results]
        return render(results, data, reruns, beside=others)

    cases, reasons = list[Case](), list[Reason]()
    for part in audited:
        for name, same in groupby(part.results, key=lambda one: one.target or one.mechanism):
            found = tuple(same)
            shown = tuple(judged(one, replay=part.replay, rerun=part.rerun) for one in found)
            source = source_of(name, Path.cwd())
            cases.append(Case(name=name, target=name, judged=shown, source=source))
            reasons += [why for one in found if (why := reason(one, name)) is not None]
        if part.beside:
            name = part.beside[0].target
            shown = tuple(judged_beside(one, rerun=part.rerun) for one in part.beside)
            known = [place for place, case in enumerate(cases) if case.name == name]
            if known:
                case = cases[known[0]]
                cases[known[0]] = replace(case, judged=(*case.judged, *shown))
            else:
                cases.append(
                    Case(name=name, target=name, judged=shown, source=source_of(name, Path.cwd()))
                )
            why_not = (reason_beside(one, name) for one in part.beside)
            reasons += [why for why in why_not if why is not None]
    alpha = sum(one.evidence.alpha for one in results)
    alpha += sum(one.result.finding.error for one in others)
    seed = results[0].seed if results else others[0].result.seed
    return Told(
        command="audit",
        cases=tuple(cases),
        reasons=tuple(reasons),
        closing=f"alpha {alpha:.3g} for all claims, seed {seed}. Not refuted is not proved.",
        document=data,
        page=page,
    )


def annotate(console: Console, told: Told) -> None:
    """Annotations for a GitHub workflow on standard output, a summary where it wants one."""
    text = as_github.render(told)
    if text:
        console.say(text)
    summary = os.environ.get("GITHUB_STEP_SUMMARY")
    if summary:
        with Path(summary).open("a", encoding="utf-8") as file:
            file.write(as_markdown.render(told))


def status_of(verdicts: Sequence[Verdict]) -> int:
    """The exit status that these verdicts make."""
    if Verdict.REFUTED in verdicts:
        return REFUTED
    return INCONCLUSIVE if Verdict.INCONCLUSIVE in verdicts else 0


def source_of(target: str, root: Path) -> tuple[str, int] | None:
    """(file under `root`, line) where the target is defined, read off the text, never run."""
    place, colon, attribute = target.rpartition(":")
    if not colon:
        return None
    file = root / place
    if not place.endswith(".py"):
        spec = None
        with suppress(ImportError, ValueError, AttributeError):
            spec = importlib.util.find_spec(place) if "." not in place else None
        inside = root.joinpath(*place.split(".")).with_suffix(".py")
        file = inside if inside.is_file() else Path(str(spec.origin)) if spec else inside
    try:
        shown = file.resolve().relative_to(root.resolve()).as_posix()
        said = file.stat()
        lines = _lines(file, said.st_mtime_ns, said.st_size)
    except (OSError, SyntaxError, ValueError):
        return None
    return shown, lines.get(attribute, 1)


@lru_cache(maxsize=64)
def _lines(file: Path, modified: int, size: int) -> Mapping[str, int]:
    """Where each name of a file is defined first; a file with thousands of entries is read once."""
    found: dict[str, int] = {}
    for node in ast.parse(file.read_text(encoding="utf-8")).body:
        for name in _names_of(node):
            found.setdefault(name, node.lineno)
    return found


def _names_of(node: ast.stmt) -> set[str]:
    if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
        return {node.name}
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return {target.id for target in targets if isinstance(target, ast.Name)}


def judged(result: AuditResult, *, replay: str, rerun: str, change: str = "") -> ToldClaim:
    """One audited claim; `replay` is the command that counts again, `rerun` audits anew.

    `change` is what differs from the last run.
    """
    bound, power = result.epsilon_lower, result.detectable_epsilon
    proved = result.verdict is Verdict.PROVED
    return ToldClaim(
        mechanism=result.mechanism,
        claim=wording.claim_phrase(result.claim),
        verdict=result.verdict.value,
        bound=wording.bound_phrase(result),
        power="" if result.refuted or proved else wording.at_most(power),
        draws=result.draws,
        seconds=result.seconds,
        scope=result.exact.scope if proved and result.exact is not None else "",
        change=change,
        story=(
            *wording.story(result),
            ("check", replay),
            *(("next", f"{text}.") for text in [wording.next_step(result, rerun)] if text),
        ),
        facts={
            "verdict": result.verdict.value,
            "claimed": wording.claimed_size(result.claim),
            "epsilon_lower": wording.plain_number(bound),
            "detectable_epsilon": wording.plain_number(power),
            "draws": str(result.draws),
            "seed": str(result.seed),
        },
    )


def reason(result: AuditResult, name: str) -> Reason | None:
    """Why an audit alone ends with another status than 0; None where it does not."""
    kind = {Verdict.REFUTED: "refuted", Verdict.INCONCLUSIVE: "inconclusive"}.get(result.verdict)
    if kind is None:
        return None
    claim = wording.claim_phrase(result.claim)
    return Reason(kind=kind, name=name, sentence=wording.sentence(result), claim=claim)


def judged_beside(check: ClaimCheck, *, rerun: str) -> ToldClaim:
    """One claim of another kind than privacy; `rerun` audits anew, with the same draws."""
    result, found = check.result, check.result.finding
    measured = claim_faces.measured_phrase(result) or claim_faces.exact_phrase(result)
    step = claim_faces.next_step(result.verdict.value, rerun)
    return ToldClaim(
        mechanism=check.mechanism,
        claim=_claimed(check),
        verdict=result.verdict.value,
        bound=f"measured {measured}" if measured else "",
        power="",
        draws=found.draws,
        seconds=result.seconds,
        scope=found.scope if result.verdict is Verdict.PROVED else "",
        story=(
            *claim_faces.story(result),
            ("check", rerun),
            *((("next", f"{step}."),) if step else ()),
        ),
        facts={
            "verdict": result.verdict.value,
            "claimed": str(number(found.claimed)),
            "draws": str(found.draws),
            "seed": str(result.seed),
        },
    )


def reason_beside(check: ClaimCheck, name: str) -> Reason | None:
    """Why a claim of another kind ends an audit with another status than 0, or None."""
    if not check.result.refuted:
        return None
    sentence = claim_faces.headline(check.result, check.mechanism).partition(": ")[2]
    return Reason(kind="refuted", name=name, sentence=sentence, claim=_claimed(check))


def _claimed(check: ClaimCheck) -> str:
    """A claim of another kind in a few words, its source with it: two may have one bound."""
    result = check.result
    source = result.identifier or result.reference
    told = f"{result.kind}: {claim_faces.bound_phrase(result)}"
    return f"{told} ({printable(source)})" if source else told
