from dpwitness.reports.drawing.svg import UNUSED, USUAL, figure, letters, pdf

# matplotlib is loaded in the tests only: pytester forgets what is loaded while it runs, and half of
# matplotlib loaded anew would not fit the other.


def test_the_usual_letters_are_those_of_the_font():
    from fontTools.ttLib import TTFont
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    for kind in ("serif", "sans-serif"):
        first, second = letters(kind)
        assert second == kind
        whole, copy = (findfont(FontProperties(family=[name])) for name in (kind, first))
        assert copy != whole
        fonts = [FT2Font(one) for one in (whole, copy)]
        there, kept = (font.get_charmap() for font in fonts)
        assert kept.keys() == there.keys() & set(USUAL)
        for code in kept:
            one, two = (font.load_char(code) for font in fonts)
            assert (one.horiAdvance, one.bbox) == (two.horiAdvance, two.bbox)
        for pair in ("AV", "To"):
            widths = []
            for font in fonts:
                font.set_text(pair)
                widths.append(font.get_width_height())
            assert widths[0] == widths[1]
        with TTFont(copy, lazy=True) as font:
            assert not set(UNUSED) & set(font.keys())


def test_a_sign_that_the_copy_lacks_is_taken_from_the_font_itself():
    lacking = 0x2713
    assert lacking not in USUAL
    with figure() as (drawing, axes):
        axes.set_title(chr(lacking))
        with_it = pdf(drawing)
        axes.set_title("")
        without = pdf(drawing)
    # A second font is embedded for it.
    assert with_it.count(b"/FontFile2") == without.count(b"/FontFile2") + 1


def test_without_a_place_for_the_copy_the_font_itself_is_used(monkeypatch, tmp_path):
    from matplotlib.font_manager import fontManager

    monkeypatch.setattr("matplotlib.get_cachedir", lambda: str(tmp_path / "nowhere"))
    monkeypatch.setattr(fontManager, "ttflist", [
        font for font in fontManager.ttflist if "usual letters" not in font.name
    ])  # fmt: skip
    assert letters("serif") == ["serif"]


def test_a_spoilt_copy_is_done_without(monkeypatch, tmp_path):
    import matplotlib
    from matplotlib.font_manager import FontProperties, findfont, fontManager

    monkeypatch.setattr("matplotlib.get_cachedir", lambda: str(tmp_path))
    monkeypatch.setattr(fontManager, "ttflist", [
        font for font in fontManager.ttflist if "usual letters" not in font.name
    ])  # fmt: skip
    stem = findfont(FontProperties(family=["serif"])).rpartition("/")[2].partition(".")[0]
    (tmp_path / f"{stem}-{matplotlib.__version__}-usual.ttf").write_bytes(b"no font")
    assert letters("serif") == ["serif"]
