"""A run as a JUnit file, in the xunit2 form that Jenkins and GitLab read."""

from collections.abc import Sequence
from xml.sax.saxutils import escape, quoteattr

from ..writing.terminal import printable
from .told import Case, Lines, Reason, Told, as_text


def render(told: Told) -> str:
    """A suite for each case, with properties for each claim judged; reasons are failures.

    The schema of xunit2 allows properties on suites only, so every suite has one testcase.
    """
    worse = told.reasons
    suites = [_suite(told, case) for case in told.cases]
    suites += [_suite_of_one(one.name, "baseline", 0.0, [(one, ())]) for one in told.of_no_case()]
    attributes = _totals(
        errors=sum(reason.kind == "failed" for reason in worse),
        failures=len({reason.name for reason in worse if reason.kind != "failed"}),
        tests=len(suites),
        seconds=sum(_seconds(case) for case in told.cases),
    )
    body = "\n".join(suites)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites name="dpwitness {told.command}" {attributes}>\n{body}\n</testsuites>\n'
    )


def _totals(*, errors: int, failures: int, tests: int, seconds: float) -> str:
    return f'errors="{errors}" failures="{failures}" tests="{tests}" time="{seconds:.3f}"'


def _seconds(case: Case) -> float:
    return float(sum(judged.seconds for judged in case.judged))


def _suite(told: Told, case: Case) -> str:
    place = case.target.rpartition(":")[0] or "catalogue"
    properties = [
        f"<property name={_attribute(f'dpwitness.{key}')} value={_attribute(value)}/>"
        for judged in case.judged
        for key, value in {**judged.facts, "scope": judged.scope}.items()
        if value
    ]
    before = f"<properties>{''.join(properties)}</properties>\n" if properties else ""
    reasons = [(reason, told.story_of(reason)) for reason in told.reasons_of(case)]
    return _suite_of_one(case.name, place, _seconds(case), reasons, before)


def _suite_of_one(
    name: str,
    place: str,
    seconds: float,
    reasons: Sequence[tuple[Reason, Lines]],
    before: str = "",
) -> str:
    errors = int(any(reason.kind == "failed" for reason, _ in reasons))
    failures = int(any(reason.kind != "failed" for reason, _ in reasons))
    totals = _totals(errors=errors, failures=failures, tests=1, seconds=seconds)
    told = "".join(f"{_reason(reason, story)}\n" for reason, story in reasons)
    return (
        f'<testsuite name={_attribute(name)} {totals} skipped="0">\n{before}'
        f"<testcase classname={_attribute(place)} name={_attribute(name)} "
        f'time="{seconds:.3f}">\n{told}</testcase>\n</testsuite>'
    )


def _reason(reason: Reason, story: Lines) -> str:
    tag = "error" if reason.kind == "failed" else "failure"
    sentence = _clean(reason.sentence)
    text = "\n".join(filter(None, [sentence, _clean(as_text(story))]))
    return f"<{tag} message={quoteattr(sentence)}>{escape(text)}</{tag}>"


def _clean(text: str) -> str:
    """Text without the characters that XML 1.0 forbids."""
    return printable(text)


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))
