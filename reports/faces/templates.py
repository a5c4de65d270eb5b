"""The templates of the pages: every value is made harmless before it stands in one.

Autoescape is on and an unknown name is an error. Before it is escaped each text loses what could
steer a reader: control characters are written out, as on a terminal.
"""

from functools import cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from ...auditors.outputs.kinds import NOT_LOOKED_AT
from ..writing.terminal import printable

HERE = Path(__file__).parent
FOLDERS = (HERE, HERE.parent / "history", HERE.parent / "gallery")


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDERS),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
        finalize=_harmless,
    )
    environment.globals.update(
        style=Markup((HERE / "page.css").read_text(encoding="utf-8")),
        not_looked_at=NOT_LOOKED_AT,
    )
    return environment


def page(name: str, **values: object) -> str:
    """The page of the template `name` with these values."""
    return _environment().get_template(name).render(values)


def raw(markup: str) -> Markup:
    """Markup of our own making, such as a figure, which stands in a page as it is."""
    return Markup(markup)


def _harmless(value: object) -> object:
    """A text with the signs and spaces that a page has and a terminal may not."""
    if not isinstance(value, str) or isinstance(value, Markup):
        return value
    signs = printable(value).replace("epsilon >= ", "epsilon \u2265 ")
    return signs.replace("epsilon ", "epsilon\u00a0").replace(" %", "\u00a0%")
