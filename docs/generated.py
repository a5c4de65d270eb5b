"""Directives whose contents come from the program: nothing that it knows is written down twice."""

import re

import click
from docutils import nodes
from docutils.parsers.rst import Directive, directives
from latex2mathml.converter import convert
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective
from sphinx.writers.html5 import HTML5Translator

PRIMED = re.compile(r"<msup>(<mi>\w</mi>|<mrow><mi>\w</mi></mrow>)<mi>&#x02032;</mi></msup>")


class Errata(Directive):
    """The statements that are false as printed: what is wrong, and what holds."""

    def run(self) -> list[nodes.Node]:
        """A table of three columns."""
        from dpwitness.mechanisms.catalogue import THEOREMS

        rows = [
            (theorem.identifier, theorem.statement, f"{theorem.remark} ({theorem.corrected})")
            for theorem in THEOREMS
            if theorem.corrected
        ]
        return [
            table(("identifier", "the printed statement", "what is wrong (and what holds)"), rows)
        ]


class PublicNames(SphinxDirective):
    """The public names of its content, each with its signature and docstring."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        """What autodoc makes of them."""
        import inspect

        import dpwitness

        lines: list[str] = []
        for name in " ".join(self.content).split():
            found = getattr(dpwitness, name)
            kind = "class" if inspect.isclass(found) else "function"
            if not callable(found):
                kind = "data"
            lines += [f".. auto{kind}:: dpwitness.{name}"]
            if kind == "class":
                lines += ["   :members:"]
            lines += [""]
        # The page is Markdown and autodoc writes reStructuredText.
        return self.parse_text_to_nodes("\n".join(["```{eval-rst}", *lines, "```"]))


class Commands(Directive):
    """The help of every command as the terminal shows it, by task."""

    def run(self) -> list[nodes.Node]:
        """A section for each task, with one for each of its commands."""
        from dpwitness.reports.cli import main
        from dpwitness.reports.shell.shell import TASKS

        sections: list[nodes.Node] = []
        for task, names in TASKS.items():
            section = titled(task, nodes.title(text=task))
            for name in names.split():
                command = main.commands[name]
                section += help_of(command, name)
                if isinstance(command, click.Group):
                    for word, one in command.commands.items():
                        section += help_of(one, f"{name} {word}")
            sections.append(section)
        return sections


def titled(name: str, title: nodes.title) -> nodes.section:
    """An empty section that links can lead to."""
    return nodes.section("", title, ids=[nodes.make_id(name)], names=[name.lower()])


def help_of(command: click.Command, name: str) -> nodes.section:
    """A section with the help of one command, 78 columns wide."""
    path = f"dpwitness {name}"
    shown = click.Context(command, info_name=path, max_content_width=80,
                          help_option_names=["-h", "--help"])  # fmt: skip
    text = command.get_help(shown)
    section = titled(path, nodes.title("", "", nodes.literal(text=path)))
    section += nodes.literal_block(text, text, language="text")
    return section


class Schema(Directive):
    """The JSON schema of a kind of file, as the program has it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A block of JSON."""
        import json

        from dpwitness.reports.formats import statements_as_json
        from dpwitness.reports.record import evidence

        made = {"evidence": evidence.schema, "reproduce": statements_as_json.schema}
        text = json.dumps(made[self.arguments[0]](), indent=1)
        return [nodes.literal_block(text, text, language="json")]


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> nodes.table:
    """A table of plain text."""
    group = nodes.tgroup(cols=len(head))
    group += [nodes.colspec(colwidth=1) for _ in head]

    def row(cells: tuple[str, ...]) -> nodes.row:
        made = nodes.row()
        for cell in cells:
            made += nodes.entry("", nodes.paragraph(text=cell))
        return made

    group += nodes.thead("", row(head))
    body = nodes.tbody()
    body += [row(cells) for cells in rows]
    group += body
    return nodes.table("", group)


def plain(app: Sphinx, *rest: object) -> None:
    """A star in a docstring is a star."""
    lines = rest[-1]
    assert isinstance(lines, list)
    lines[:] = [line.replace("*", r"\*") for line in lines]


def typeset(formula: str, display: str = "inline") -> str:
    """LaTeX as MathML; a prime is a glyph that is raised already."""
    return PRIMED.sub(
        r'<mrow>\1<mo lspace="0" rspace="0">′</mo></mrow>', convert(formula, display=display)
    )


def inline_formula(writer: HTML5Translator, node: nodes.math) -> None:
    """A formula in a line."""
    writer.body.append(typeset(node.astext()))
    raise nodes.SkipNode


def displayed_formula(writer: HTML5Translator, node: nodes.math_block) -> None:
    """A formula on lines of its own; a wide one scrolls in its place."""
    made = typeset(node.astext(), "block")
    writer.body.append(f'<div class="math" style="overflow-x: auto">{made}</div>')
    raise nodes.SkipNode


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    directives.register_directive("errata", Errata)
    directives.register_directive("schema", Schema)
    directives.register_directive("commands", Commands)
    app.add_directive("public-names", PublicNames)
    app.add_html_math_renderer("mathml", (inline_formula, None), (displayed_formula, None))
    app.connect("autodoc-process-docstring", plain)
    return {"parallel_read_safe": True}
