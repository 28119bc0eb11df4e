"""Sphinx settings. `make docs` builds the site without a network; a warning is an error."""

import sys
from pathlib import Path

import svmreduce

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

project = "svmreduce"
version = release = svmreduce.__version__
copyright = "the svmreduce authors"
extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "executed", "generated", "mathml"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 3
source_suffix = {".md": "markdown"}
nitpicky = True
# Types in docstrings are words for people: "float or None".
nitpick_ignore_regex = [("py:(class|obj)", ".*")]
default_role = "code"
highlight_language = "none"
autodoc_typehints = "none"
autodoc_member_order = "bysource"

html_math_renderer = "mathml"
html_theme = "furo"
html_title = f"svmreduce {release}"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False


def _bars(app, what, name, thing, options, lines):
    """In our docstrings |α| is an absolute value, not a substitution."""
    lines[:] = [line if "``" in line else line.replace("|", r"\|") for line in lines]


def _is_foreign(app, what, name, thing, skip, options):
    """Leave out what a class inherits from scikit-learn."""
    home = getattr(getattr(thing, "__func__", thing), "__module__", None) or "svmreduce"
    return skip or not home.startswith("svmreduce")


def setup(app):
    app.connect("autodoc-process-docstring", _bars)
    app.connect("autodoc-skip-member", _is_foreign)
