"""A run of `dpwitness reproduce` as a folder: a page, its pictures and its tables."""

import os
from collections.abc import Iterator
from pathlib import Path

from ...auditors.errors import InvalidArgument
from ..statements.sections import Gallery, PaperStyle, Section
from ..writing.files import write_atomically
from .names import plain_names
from .page import gallery_page
from .standalone import standalone
from .tables import section_csv, summary_csv


def write_gallery(gallery: Gallery, out: Path) -> None:
    """Write `index.html`, `summary.csv`, `figures/` and `tables/` into the folder `out`.

    The page needs nothing but itself; it links to the other files and is written last. Every
    file is whole or not there. Raises InvalidArgument where the folder cannot be written.
    """
    try:
        for folder in (out, out / "figures", out / "tables"):
            folder.mkdir(parents=True, exist_ok=True)
        for name, content in _files(gallery):
            write_atomically(str(out / name), content)
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InvalidArgument(f"cannot write the gallery to {os.fspath(out)!r}: {reason}") from None


def _files(gallery: Gallery) -> Iterator[tuple[str, str | bytes]]:
    names = plain_names(section.identifier for section in gallery.sections)
    for section in gallery.sections:
        yield from _section_files(section, names[section.identifier], gallery.style)
    yield "summary.csv", summary_csv(gallery.sections)
    yield "index.html", gallery_page(gallery, names)


def _section_files(
    section: Section, name: str, style: PaperStyle
) -> Iterator[tuple[str, str | bytes]]:
    for picture in section.pictures:
        yield f"figures/{name}-{picture.key}.svg", standalone(picture.svg, serif=style.serif)
        yield f"figures/{name}-{picture.key}.pdf", picture.pdf
    yield f"tables/{name}.csv", section_csv(section)
