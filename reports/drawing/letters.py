"""The letters of pictures, without what pictures do not use of a font.

A PDF holds the letters that stand in it. Cutting them out of DejaVu takes longer than drawing the
picture: it has tables of ligatures and marks, which pictures do without, and six thousand signs.
So the letters are cut out of a copy that has the usual ones only, kept where matplotlib keeps what
it knows of fonts. A sign that the copy lacks is taken from the font itself.
"""

from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory

UNUSED = ("GDEF", "GPOS", "GSUB", "FFTM")
USUAL = (
    *range(0x20, 0x180),  # Latin
    *range(0x370, 0x400),  # Greek
    *range(0x2010, 0x2060),  # dashes and quotation marks
    *range(0x2070, 0x20A0),  # superscripts and subscripts
    *range(0x2190, 0x2300),  # arrows and signs of mathematics
)
"""Code points that the copy has, as far as the font has them."""
NAMES = (1, 16)
"""Where a font says the name of its family."""


def letters(kind: str) -> list[str]:
    """The families that matplotlib sets letters of a kind in, "serif" or "sans-serif".

    The copy first, then the kind itself; this alone where there can be no copy.
    """
    import matplotlib
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    font = Path(findfont(FontProperties(family=[kind])))
    copy = Path(matplotlib.get_cachedir()) / f"{font.stem}-{matplotlib.__version__}-usual.ttf"
    name = f"{font.stem} usual letters"
    if any(known.name == name for known in fontManager.ttflist):
        return [name, kind]
    # The copy saves time and nothing else: a font that cannot be cut, or a spoilt copy, costs that.
    with suppress(Exception):
        if not copy.exists():
            _write(font, copy, name)
        fontManager.addfont(copy)
        return [name, kind]
    return [kind]


def _write(font: Path, copy: Path, name: str) -> None:
    from fontTools.subset import Options, Subsetter
    from fontTools.ttLib import TTFont

    options = Options(
        drop_tables=[*Options().drop_tables, *UNUSED], glyph_names=True, legacy_kern=True,
        name_IDs=["*"], notdef_outline=True, recommended_glyphs=True,
    )  # fmt: skip
    with TTFont(font, lazy=True, recalcBBoxes=False) as whole:
        cutter = Subsetter(options)
        cutter.populate(unicodes=USUAL)
        cutter.subset(whole)
        for record in whole["name"].names:
            if record.nameID in NAMES:
                record.string = name
        # Another process may write it at the same time: it is there whole or not at all.
        with TemporaryDirectory(dir=copy.parent) as folder:
            made = Path(folder) / copy.name
            whole.save(made, reorderTables=None)
            made.replace(copy)
