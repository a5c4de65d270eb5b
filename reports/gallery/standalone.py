"""An SVG that stands inside a page, as a file of its own."""

import re

SANS = "'DejaVu Sans',Verdana,sans-serif"
SERIF = "'DejaVu Serif',Georgia,serif"
STYLE = f"background:#fff;color:#1c2128;font-family:{SANS}"


def standalone(svg: str, *, serif: bool = False) -> str:
    """The same picture with a size, its own letters and a white background."""
    box = re.search(r'viewBox="[\d.-]+ [\d.-]+ ([\d.]+) ([\d.]+)"', svg)
    size = f' width="{box[1]}pt" height="{box[2]}pt"' if box else ""
    letters = STYLE.replace(SANS, SERIF) if serif else STYLE
    head = f'<?xml version="1.0" encoding="utf-8"?>\n<svg{size} style="{letters}"'
    return svg.replace("<svg", head, 1) + "\n"
