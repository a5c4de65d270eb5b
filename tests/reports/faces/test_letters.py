from dpwitness.reports.faces.letters import UNUSED, letters

# matplotlib is loaded in the tests only: pytester forgets what is loaded while it runs, and half of
# matplotlib loaded anew would not fit the other.


def test_the_letters_are_those_of_the_font_without_its_layout_tables():
    from fontTools.ttLib import TTFont
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    for kind in ("serif", "sans-serif"):
        whole, copy = (findfont(FontProperties(family=[name])) for name in (kind, letters(kind)))
        assert copy != whole
        assert FT2Font(copy).get_charmap() == FT2Font(whole).get_charmap()
        with TTFont(copy, lazy=True) as font:
            assert not set(UNUSED) & set(font.keys())


def test_without_a_place_for_the_copy_the_font_itself_is_used(monkeypatch, tmp_path):
    from matplotlib.font_manager import fontManager

    monkeypatch.setattr("matplotlib.get_cachedir", lambda: str(tmp_path / "nowhere"))
    monkeypatch.setattr(fontManager, "ttflist", [
        font for font in fontManager.ttflist if "without ligatures" not in font.name
    ])  # fmt: skip
    assert letters("serif") == "serif"
