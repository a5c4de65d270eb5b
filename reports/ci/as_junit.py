"""The gate as a JUnit file, in the xunit2 form that Jenkins and GitLab read."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from ..terminal import printable
from .baseline import Worse
from .gate import Gated

__all__ = ["junit"]


def junit(gated: Sequence[Gated], worse: Sequence[Worse]) -> str:
    """A suite for each entry, with properties for each result; reasons are failures.

    The schema of xunit2 allows properties on suites only, so every entry is a suite of one case.
    """
    known = {one.entry.name for one in gated}
    suites = [_suite(one, [w for w in worse if w.name == one.entry.name]) for one in gated]
    suites += [_vanished(reason) for reason in worse if reason.name not in known]
    attributes = _totals(
        errors=sum(reason.kind == "failed" for reason in worse),
        failures=len({reason.name for reason in worse if reason.kind != "failed"}),
        tests=len(suites),
        seconds=sum(_seconds(one) for one in gated),
    )
    body = "\n".join(suites)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites name="dpwitness gate" {attributes}>\n{body}\n</testsuites>\n'
    )


def _totals(*, errors: int, failures: int, tests: int, seconds: float) -> str:
    return f'errors="{errors}" failures="{failures}" tests="{tests}" time="{seconds:.3f}"'


def _seconds(one: Gated) -> float:
    return float(sum(result["seconds"] for result in (*one.results, *one.again)))


def _suite(one: Gated, reasons: Sequence[Worse]) -> str:
    place = one.entry.target.rpartition(":")[0] or "catalogue"
    properties = [
        f"<property name={_attribute(f'dpwitness.{key}')} value={_attribute(value)}/>"
        for result in one.results
        for key, value in _facts(result).items()
    ]
    before = f"<properties>{''.join(properties)}</properties>\n" if properties else ""
    return _suite_of_one(one.entry.name, place, _seconds(one), reasons, before)


def _suite_of_one(
    name: str, place: str, seconds: float, reasons: Sequence[Worse], before: str = ""
) -> str:
    errors = int(any(reason.kind == "failed" for reason in reasons))
    failures = int(any(reason.kind != "failed" for reason in reasons))
    totals = _totals(errors=errors, failures=failures, tests=1, seconds=seconds)
    told = "".join(f"{_reason(reason)}\n" for reason in reasons)
    return (
        f'<testsuite name={_attribute(name)} {totals} skipped="0">\n{before}'
        f"<testcase classname={_attribute(place)} name={_attribute(name)} "
        f'time="{seconds:.3f}">\n{told}</testcase>\n</testsuite>'
    )


def _facts(result: Mapping[str, Any]) -> dict[str, str]:
    keys = ("verdict", "epsilon_lower", "detectable_epsilon", "draws", "seed")
    return {key: str(result[key]) for key in keys}


def _reason(reason: Worse) -> str:
    tag = "error" if reason.kind == "failed" else "failure"
    text = _clean(reason.sentence)
    return f"<{tag} message={quoteattr(text)}>{escape(text)}</{tag}>"


def _vanished(reason: Worse) -> str:
    return _suite_of_one(reason.name, "baseline", 0.0, [reason])


def _clean(text: str) -> str:
    """Text without the characters that XML 1.0 forbids."""
    return printable(text)


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))
