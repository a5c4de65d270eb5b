"""The words that were given up (docs/glossary.md) stand in no printed sentence and on no page."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
GIVEN_UP = {
    r"mend(s|ed|ing)?": "fix",
    r"draws a side": "runs per database",
    r"hunt(s|ed|ing)?": "search",
    r"lessons?": "the runs that chose the event",
    r"loses at least|it loses more": "privacy loss >=",
    r"for granted": "assumes",
    r"(draws?|counts?|data|evidence|numbers|outputs) (say|tell|see|know|speak|contradict)s?":
        "name the actor",
    r"(who|what) (was|is|were|are) asked": "name the actor",
    r"nothing stands|stands against": "no violation found",
    r"borne out": "confirmed",
    r"could see|could have seen": "would have detected",
    r"compared with nothing": "not compared",
    r"whoever": "name the actor",
}  # fmt: skip
PATTERN = re.compile(rf"\b({'|'.join(GIVEN_UP)})\b", re.I)
PAGES = [
    ROOT / "README.md",
    *(
        ROOT / "docs" / f"{name}.md"
        for name in (
            "index",
            "continuous-integration",
            "databases",
            "architecture",
            "attackers",
            "calibration",
            "measured",
            "protocol",
            "statistics",
            "tape",
        )
    ),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
    *sorted((ROOT / "docs" / "how-to").glob("*.md")),
    *sorted((ROOT / "docs" / "explanation").glob("*.md")),
    *sorted((ROOT / "docs" / "reference").glob("*.md")),
]
TEMPLATES = sorted((ROOT / "reports").rglob("*.html"))
PRINTING = sorted(
    path
    for room in ("reports", "auditors", "mechanisms", "dpwitness")
    for path in (ROOT / room).rglob("*.py")
)


def sentences(path):
    """Every text of several words in a module that is no docstring, and what `--help` shows."""
    tree = ast.parse(path.read_text("utf-8"))
    silent = set()
    for node in ast.walk(tree):
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)):
            command = isinstance(node, ast.FunctionDef) and any(
                "command" in ast.unparse(one) for one in node.decorator_list
            )
            silent |= {id(part.value) for part in node.body if isinstance(part, ast.Expr)}
            if command:
                silent -= {id(node.body[0].value)} if isinstance(node.body[0], ast.Expr) else set()
        elif hasattr(node, "body") and isinstance(node.body, list):
            silent |= {id(part.value) for part in node.body if isinstance(part, ast.Expr)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            if id(node) not in silent:
                yield node.lineno, node.value


@pytest.mark.parametrize("path", PRINTING, ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_printed_sentence_has_a_word_that_was_given_up(path):
    found = [(line, hit[0]) for line, text in sentences(path) for hit in PATTERN.finditer(text)]
    assert found == [], "docs/glossary.md has the words to use instead"


@pytest.mark.parametrize(
    "path", [*PAGES, *TEMPLATES], ids=lambda path: path.relative_to(ROOT).as_posix()
)
def test_no_page_has_a_word_that_was_given_up(path):
    text = " ".join(path.read_text("utf-8").split())
    found = [text[max(0, hit.start() - 30) : hit.end() + 20] for hit in PATTERN.finditer(text)]
    assert found == [], "docs/glossary.md has the words to use instead"


def test_the_pattern_finds_what_was_given_up():
    for said in ("mend the mechanism", "100 draws a side", "No draw contradicts it", "the hunt",
                 "it loses at least 1", "what is asked again"):  # fmt: skip
        assert PATTERN.search(said), said
    for said in ("amend", "the claim holds", "runs per database", "recommended"):
        assert not PATTERN.search(said), said
