"""How the documentation is built: `sphinx-build -W docs site`, without a network."""

import importlib.metadata
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

project = "dpwitness"
html_show_copyright = False
release = importlib.metadata.version("dpwitness")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_copybutton",
    "generated",
]
exclude_patterns = ["sample"]
myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
html_math_renderer = "mathml"
"""Formulas are MathML in the page itself (docs/generated.py): no script, no other address."""
copybutton_prompt_text = "$ "
copybutton_line_continuation_character = "\\"
"""What is copied of a terminal is the commands."""
suppress_warnings = ["myst.xref_missing"]
"""Links out of docs/ lead into the repository; a test follows every one of them."""
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
python_maximum_signature_line_length = 88
default_role = "code"
autodoc_member_order = "bysource"
add_module_names = False
html_theme = "furo"
html_title = f"dpwitness {release}"
html_show_sphinx = False
html_copy_source = False
