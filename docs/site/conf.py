"""Sphinx settings of the documentation site, which docs/site/build.py builds."""

import re

import graphsqueak

project = "graphsqueak"
author = "the authors of graphsqueak"
version = release = graphsqueak.__version__
extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.mathjax",
    # MathJax as a Python package: formulas need no network when the site is read or built.
    "sphinx-mathjax-offline",
    "numpydoc",
    "myst_nb",
    "sphinx_design",
]
source_suffix = {".md": "myst-nb", ".rst": "restructuredtext", ".ipynb": "myst-nb"}
exclude_patterns = ["**.ipynb_checkpoints"]

# Pages are Markdown that GitHub shows as well: $...$ for mathematics, ::: for cards.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
# Notebooks are shown with their stored output.
nb_execution_mode = "off"
nb_merge_streams = True

# Docstrings follow numpydoc. Methods are listed by autodoc instead of in tables.
autodoc_typehints = "none"
default_role = "code"
toc_object_entries_show_parents = "hide"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

html_theme = "pydata_sphinx_theme"
html_title = "graphsqueak"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "navbar_align": "left",
    "header_links_before_dropdown": 5,
    "show_nav_level": 1,
    "show_toc_level": 2,
    "footer_start": [],
    "footer_end": [],
    "secondary_sidebar_items": {"**": ["page-toc"], "index": []},
    "pygments_light_style": "default",
}
html_context = {"default_mode": "auto"}
# The front page has no sidebar.
html_sidebars = {"index": []}

_UNDERLINED = re.compile(r"(?<![`\w])([A-Za-z]\w*)_(?![\w`])")


def escape_plain_text(app, what, name, obj, options, lines):
    """Escape |x| (a norm) and coef_ (an attribute), which reStructuredText takes for markup."""
    in_example = False
    for number, line in enumerate(lines):
        in_example = line.lstrip().startswith(">>>") or (in_example and bool(line.strip()))
        if not in_example:
            lines[number] = _UNDERLINED.sub(r"\1\\_", line.replace("|", r"\|"))


def setup(app):
    """Escape before numpydoc processes the docstring, which it does at priority 500."""
    app.connect("autodoc-process-docstring", escape_plain_text, priority=400)
