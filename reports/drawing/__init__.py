"""One way to draw: pictures as SVG, and the letters that a page carries with it."""
