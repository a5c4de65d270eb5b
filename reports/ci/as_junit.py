"""The gate as a JUnit file, in the xunit2 form that Jenkins and GitLab read."""

from collections.abc import Mapping, Sequence
from typing import Any
from xml.sax.saxutils import escape, quoteattr

from ..terminal import printable
from .baseline import Worse
from .gate import Gated

__all__ = ["junit"]


def junit(gated: Sequence[Gated], worse: Sequence[Worse]) -> str:
    """One testcase for each entry, with a property for each result; reasons are failures."""
    known = {one.entry.name for one in gated}
    cases = [_case(one, [w for w in worse if w.name == one.entry.name]) for one in gated]
    cases += [_vanished(reason) for reason in worse if reason.name not in known]
    errors = sum(reason.kind == "failed" for reason in worse)
    failures = len({reason.name for reason in worse if reason.kind != "failed"})
    seconds = sum(_seconds(one) for one in gated)
    attributes = (
        f'errors="{errors}" failures="{failures}" tests="{len(cases)}" time="{seconds:.3f}"'
    )
    body = "\n".join(cases)
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        f'<testsuites name="dpwitness" {attributes}>\n'
        f'<testsuite name="dpwitness gate" {attributes} skipped="0">\n{body}\n'
        "</testsuite>\n</testsuites>\n"
    )


def _seconds(one: Gated) -> float:
    return float(sum(result["seconds"] for result in (*one.results, *one.again)))


def _case(one: Gated, reasons: Sequence[Worse]) -> str:
    place = one.entry.target.rpartition(":")[0] or "catalogue"
    head = (
        f"<testcase classname={_attribute(place)} name={_attribute(one.entry.name)} "
        f'time="{_seconds(one):.3f}">'
    )
    properties = [
        f"<property name={_attribute(f'dpwitness.{key}')} value={_attribute(value)}/>"
        for result in one.results
        for key, value in _facts(result).items()
    ]
    parts = [f"<properties>{''.join(properties)}</properties>"] if properties else []
    parts += [_reason(reason) for reason in reasons]
    return "\n".join([head, *parts, "</testcase>"])


def _facts(result: Mapping[str, Any]) -> dict[str, str]:
    keys = ("verdict", "epsilon_lower", "detectable_epsilon", "samples", "seed")
    return {key: str(result[key]) for key in keys}


def _reason(reason: Worse) -> str:
    tag = "error" if reason.kind == "failed" else "failure"
    text = _clean(reason.sentence)
    return f"<{tag} message={quoteattr(text)}>{escape(text)}</{tag}>"


def _vanished(reason: Worse) -> str:
    name = _attribute(reason.name)
    return f'<testcase classname="baseline" name={name} time="0">\n{_reason(reason)}\n</testcase>'


def _clean(text: str) -> str:
    """Text without the characters that XML 1.0 forbids."""
    return printable(text)


def _attribute(text: str) -> str:
    return quoteattr(_clean(text))
