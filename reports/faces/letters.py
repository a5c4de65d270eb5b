"""The letters of pictures, without the tables that pictures do not use.

A PDF holds the letters that stand in it. Cutting them out of DejaVu takes longer than drawing the
picture, nearly all of it for ligatures and marks, which matplotlib never sets. So the font is cut
out of a copy without these tables, kept where matplotlib keeps what it knows of fonts.
"""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

UNUSED = ("GDEF", "GPOS", "GSUB")
NAMES = (1, 16)
"""Where a font says the name of its family."""


def letters(kind: str) -> str:
    """The family that matplotlib sets letters of a kind in, "serif" or "sans-serif", as a copy.

    The kind itself where the copy can be neither read nor written.
    """
    import matplotlib
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    font = Path(findfont(FontProperties(family=[kind])))
    copy = Path(matplotlib.get_cachedir()) / f"{font.stem}-{matplotlib.__version__}-without.ttf"
    name = f"{font.stem} without ligatures"
    if any(known.name == name for known in fontManager.ttflist):
        return name
    with suppress(OSError):
        if not copy.exists():
            _write(font, copy, name)
        fontManager.addfont(copy)
        return name
    return kind


def _write(font: Path, copy: Path, name: str) -> None:
    from fontTools.ttLib import TTFont

    with TTFont(font, lazy=True) as whole:
        for table in UNUSED:
            if table in whole:
                del whole[table]
        for record in whole["name"].names:
            if record.nameID in NAMES:
                record.string = name
        # Another process may write it at the same time: it is there whole or not at all.
        with TemporaryDirectory(dir=copy.parent) as folder:
            made = Path(folder) / copy.name
            whole.save(made, reorderTables=None)
            made.replace(copy)
