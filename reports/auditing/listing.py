"""What the catalogue holds, for machines and for a terminal."""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from itertools import groupby
from typing import TypeVar

from ...auditors.errors import InvalidArgument
from ...mechanisms.catalogue import BROKEN_STATEMENTS, CATALOGUE, NEGATIVE_CONTROLS, PARTS, THEOREMS
from ...mechanisms.model import (
    BrokenStatement,
    Claim,
    Mechanism,
    NegativeControl,
    Parameter,
    PrivacyClaim,
    Theorem,
)
from ..faces.as_text import NARROWEST, WIDEST
from ..faces.wording import claim_phrase
from ..record.evidence import claim_to_json
from ..shell.shell import meant
from ..writing.terminal import printable, wrapped

SCHEMA = "dpwitness-list/1"

COLUMN = 13
"""Letters of the column of identifiers. Few are longer, and those push their own text only."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Selected:
    """The entries that are shown, each part in the order of the catalogue."""

    mechanisms: Sequence[Mechanism]
    controls: Sequence[NegativeControl]
    theorems: Sequence[Theorem]
    statements: Sequence[BrokenStatement]

    @property
    def nothing(self) -> bool:
        """Whether no entry was found."""
        return not (self.mechanisms or self.controls or self.theorems or self.statements)


EVERYTHING = Selected(
    mechanisms=CATALOGUE, controls=NEGATIVE_CONTROLS, theorems=THEOREMS,
    statements=BROKEN_STATEMENTS,
)  # fmt: skip

T = TypeVar("T")


def select(
    words: Sequence[str] = (), *, kind: str | None = None, system: str | None = None
) -> Selected:
    """What has every one of `words` somewhere in it, of one kind and one system if given.

    A word is looked for in any case in all that the list tells of an entry, its system included;
    one with *, ? or [ is a pattern of names. An "erratum" is a theorem that is false as printed.
    Raises InvalidArgument for a system there is not and where nothing is found.
    """
    if system is not None:
        system = _known_system(system)
    wanted = [_folded(word) for word in words]

    def chosen(
        of_kind: str, entries: Iterable[T], systems: Mapping[str, str], tell: Callable[[T], object]
    ) -> list[T]:
        if kind not in (None, of_kind) and (kind, of_kind) != ("erratum", "theorem"):
            return []
        return [
            entry
            for (name, its), entry in zip(systems.items(), entries, strict=True)
            if system in (None, its)
            and (kind != "erratum" or (isinstance(entry, Theorem) and not entry.holds))
            and all(
                fnmatchcase(_folded(name), word)
                if re.search(r"[*?[]", word)
                else word in _folded(f"{its} {tell(entry)}")
                for word in wanted
            )
        ]

    found = Selected(
        mechanisms=chosen("mechanism", CATALOGUE, CATALOGUE.systems, _mechanism),
        controls=chosen("control", NEGATIVE_CONTROLS, NEGATIVE_CONTROLS.systems, _control),
        theorems=chosen("theorem", THEOREMS, THEOREMS.systems, _theorem),
        statements=chosen(
            "statement", BROKEN_STATEMENTS, BROKEN_STATEMENTS.systems, _broken_statement
        ),
    )
    if found.nothing:
        asked = [*(f"{word!r}" for word in words), *([f"--kind {kind}"] if kind else [])]
        asked += [f"--system {system}"] if system else []
        known = [*CATALOGUE.systems, *NEGATIVE_CONTROLS.systems, *THEOREMS.systems, *systems()]
        everywhere = _folded(" ".join(known))
        parts = {part for name in known for part in re.split(r"[-.:]", name) if len(part) > 2}
        unknown = [word for word in words if _folded(word) not in everywhere]
        near = "".join(meant(word, known) or meant(word, sorted(parts)) for word in unknown)
        raise InvalidArgument(
            f"nothing in the catalogue has {' and '.join(asked)}{near}; `dpwitness list` shows "
            "the systems, `dpwitness list --all` everything"
        )
    return found


def systems() -> list[str]:
    """The systems that have something in the catalogue, in its order."""
    parts = (CATALOGUE, NEGATIVE_CONTROLS, THEOREMS, BROKEN_STATEMENTS)
    return list(dict.fromkeys(system for part in parts for system in part.systems.values()))


def _known_system(system: str) -> str:
    known = {_folded(one): one for one in systems()}
    if _folded(system) not in known:
        raise InvalidArgument(
            f"there is no system {system!r}{meant(system, known.values())}; the systems are "
            f"{', '.join(known.values())}"
        )
    return known[_folded(system)]


def _folded(text: str) -> str:
    return text.strip().casefold().replace("_", "-").replace(" ", "-")


def overview(width: int = 80) -> str:
    """The systems with the names of their mechanisms and how much else they hold."""
    width = min(max(width, NARROWEST), WIDEST)
    lines = []
    for system in systems():
        names = [name for name, its in CATALOGUE.systems.items() if its == system]
        counts = [
            f"{number} {noun if number == 1 else noun + 's'}"
            for noun, part in (
                ("control", NEGATIVE_CONTROLS),
                ("theorem", THEOREMS),
                ("broken statement", BROKEN_STATEMENTS),
            )
            if (number := list(part.systems.values()).count(system))
        ]
        lines += [*wrapped(f"{system} ({', '.join(counts)})" if counts else system, width)]
        lines += wrapped(", ".join(names), width, "  ", "  ") if names else []
    lines += [
        "",
        *wrapped(
            f"{len(CATALOGUE)} mechanisms, {len(NEGATIVE_CONTROLS)} negative controls, "
            f"{len(THEOREMS)} theorems, {len(BROKEN_STATEMENTS)} broken statements.",
            width,
        ),
        "",
        *wrapped("dpwitness list noise tells of one system or word; dpwitness list --all of "
                 "everything; dpwitness list --help has the other filters.", width),
    ]  # fmt: skip
    return "\n".join(map(printable, lines))


def as_data(selected: Selected = EVERYTHING) -> dict[str, object]:
    """The catalogue as plain JSON data, in its own order. Keys are added, never changed.

    "schema": SCHEMA.
    "mechanisms": name, identifier, reference, claims, each with the keys of `claim_to_json`.
    "controls": those of a mechanism, and breaks, the claim to be refuted; defect; detectable,
    false where draws at the default budget cannot show the defect.
    "theorems": identifier, statement, kind (as in a claim), reference; parameters, by name with
    default, low, high, integer and meaning; mechanism, the name of the one it is about or "";
    holds, corrected (the identifier of the form that holds, or "") and remark.
    "broken_statements": identifier, breaks, the claim to be refuted, and defect.
    """
    return {
        "schema": SCHEMA,
        "mechanisms": [_mechanism(mechanism) for mechanism in selected.mechanisms],
        "controls": [_control(control) for control in selected.controls],
        "theorems": [_theorem(theorem) for theorem in selected.theorems],
        "broken_statements": [_broken_statement(statement) for statement in selected.statements],
    }


def _mechanism(mechanism: Mechanism) -> dict[str, object]:
    return {
        "name": mechanism.name,
        "identifier": mechanism.identifier,
        "reference": mechanism.reference,
        "claims": [claim_to_json(claim) for claim in mechanism.claims],
    }


def _control(control: NegativeControl) -> dict[str, object]:
    return {
        **_mechanism(control.mechanism),
        "identifier": control.identifier,
        "breaks": claim_to_json(control.breaks),
        "defect": control.defect,
        "detectable": control.detectable,
    }


def _theorem(theorem: Theorem) -> dict[str, object]:
    subject = theorem.at()
    return {
        "identifier": theorem.identifier,
        "statement": theorem.statement,
        "kind": subject.claim.kind,
        "reference": theorem.reference,
        "parameters": {name: _parameter(p) for name, p in theorem.parameters.items()},
        "mechanism": subject.mechanism.name if subject.mechanism else "",
        "holds": theorem.holds,
        "corrected": theorem.corrected,
        "remark": theorem.remark,
    }


def _parameter(parameter: Parameter) -> dict[str, object]:
    return {
        "default": parameter.default,
        "low": parameter.within.low,
        "high": parameter.within.high,
        "integer": parameter.within.integer,
        "meaning": parameter.meaning,
    }


def _broken_statement(statement: BrokenStatement) -> dict[str, object]:
    return {
        "identifier": statement.identifier,
        "breaks": claim_to_json(statement.claim),
        "defect": statement.defect,
    }


def render(width: int = 80, selected: Selected = EVERYTHING, *, detail: bool = False) -> str:
    """The catalogue as text, no line longer than `width` (40 to 100).

    Mechanisms with all their claims, controls with what they break, theorems and broken
    statements; with `detail` theorems with their source and parameters. Parts without an entry are
    left out.
    """
    width = min(max(width, NARROWEST), WIDEST)
    lines: list[str] = []
    if selected.mechanisms:
        lines += ["", "Mechanisms", ""]
    for mechanism in selected.mechanisms:
        lines += _title(mechanism.name, mechanism.identifier, width)
        lines += _claims(mechanism, width)
        lines += wrapped(mechanism.reference, width, "      ")
    if selected.controls:
        lines += ["", "Negative controls, each to be refuted", ""]
    for control in selected.controls:
        lines += _title(control.mechanism.name, control.identifier, width)
        lines += wrapped(f"breaks {_claim(control.breaks)}", width, "      ")
        lines += wrapped(control.defect, width, "      ")
    by_part = groupby(_by_part(selected.theorems), key=lambda theorem: theorem.part)
    for part, theorems in by_part:
        lines += ["", *wrapped(f"Theorems: {part}", width), ""]
        for one in theorems:
            said = one.statement if one.holds else f"(false) {one.statement}"
            lines += _table([(one.identifier, said)], width)
            lines += _about(one, width) if detail else []
    if selected.statements:
        lines += ["", "Broken statements, each to be refuted", ""]
    lines += _table([(s.identifier, s.defect) for s in selected.statements], width)
    return "\n".join(map(printable, lines[1:]))


def _about(theorem: Theorem, width: int) -> list[str]:
    """The source and the parameters of a theorem, and what a false one gets wrong."""
    told = [theorem.reference]
    told += [
        f"{name}={one.default:g}, {one.within.low:g} to {one.within.high:g}: {one.meaning}"
        for name, one in theorem.parameters.items()
    ]
    if theorem.corrected:
        told.append(f"{theorem.corrected} is the form that holds")
    told += [theorem.remark] if theorem.remark else []
    return [line for text in told for line in wrapped(text, width, "        ", "      ")]


def _title(name: str, code: str, width: int) -> list[str]:
    return wrapped(name + (f"  [{code}]" if code and code != name else ""), width, "    ", "  ")


def _claims(mechanism: Mechanism, width: int) -> list[str]:
    return [
        line
        for claim in mechanism.claims
        for line in wrapped(_claim(claim), width, "        ", "      ")
    ]


def _claim(claim: Claim) -> str:
    """A claim in a few words, its code in front: "EM-3.10: epsilon 1 (replace-one)"."""
    code = f"{claim.identifier}: " if claim.identifier else ""
    if isinstance(claim, PrivacyClaim):
        return code + claim_phrase(claim)
    return f"{code}{claim.kind}, {claim.statement or claim.reference}"


def _by_part(theorems: Iterable[Theorem]) -> list[Theorem]:
    """The theorems with those of one part together."""
    return sorted(theorems, key=lambda theorem: [*PARTS].index(theorem.part))


def _table(said: Sequence[tuple[str, str]], width: int) -> list[str]:
    """Each code with its text, which goes on below itself."""
    indent = " " * (COLUMN + 4)
    return [
        line
        for code, text in said
        for line in wrapped(f"{code:<{COLUMN}}  {text}", width, indent, "  ")
    ]
