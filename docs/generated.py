"""Directives whose contents come from the program: nothing that it knows is written down twice."""

from docutils import nodes
from docutils.parsers.rst import Directive, directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective


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
        return self.parse_text_to_nodes("\n".join(lines))


class Schema(Directive):
    """The JSON schema of a kind of file, as the program has it."""

    required_arguments = 1

    def run(self) -> list[nodes.Node]:
        """A block of JSON."""
        import json

        from dpwitness.reports.formats import statements_as_json
        from dpwitness.reports.record import json_schema

        made = {"evidence": json_schema.schema, "reproduce": statements_as_json.schema}
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
    """A star in the help of a command, or in a docstring, is a star."""
    lines = rest[-1]
    assert isinstance(lines, list)
    lines[:] = [line.replace("*", r"\*") for line in lines]


def literal(app: Sphinx, context: object, lines: list[str]) -> None:
    """Examples are shown as they are typed."""
    if lines:
        lines[:] = [
            ".. code-block:: text",
            "",
            *(f"   {line.removeprefix('| ')}" for line in lines),
        ]


def setup(app: Sphinx) -> dict[str, bool]:
    """Called by Sphinx."""
    directives.register_directive("errata", Errata)
    directives.register_directive("schema", Schema)
    app.add_directive("public-names", PublicNames)
    app.connect("sphinx-click-process-description", plain)
    app.connect("sphinx-click-process-epilog", literal)
    app.connect("autodoc-process-docstring", plain)
    return {"parallel_read_safe": True}
