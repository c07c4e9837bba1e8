"""Sphinx's configuration of the site; `make -C docs html` builds it, without a network."""

from __future__ import annotations

import os
import sys
from importlib.metadata import metadata
from pathlib import Path

import mercer

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

project = "mercer"
author = "The mercer developers"
project_copyright = author
version = release = mercer.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx.ext.viewcode",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "docstrings",
    "linked_calls",
    "llms_sentences",
    "markdown_twins",
    "mathml",
    "repository_paths",
    "search_words",
    "sphinx_llm_friendly",
]
smartquotes = False
toc_object_entries_show_parents = "hide"
default_role = "literal"
# A page that another script writes does not break the build before a page links to it.
suppress_warnings = ["toc.not_included"]
exclude_patterns = [
    *("_contents", "jupyterlite_contents"),
    *("_build", "_ext", "_templates", "examples", "*.py"),
    *("**/GALLERY_HEADER.rst", "**/sg_execution_times.rst", "sg_execution_times.rst"),
]
templates_path = ["_templates"]

myst_enable_extensions = ["colon_fence", "deflist", "dollarmath", "substitution"]
myst_substitutions = {"version": release}
myst_heading_anchors = 4
copybutton_exclude = ".linenos, .gp, .go"

autosummary_generate = True
autodoc_typehints = "none"
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "examples",
    "gallery_dirs": "auto_examples",
    "filename_pattern": r"/\w+\.py$",
    "subsection_order": [
        "examples/tables",
        "examples/explanations",
        "examples/learners",
        "examples/generalized",
        "examples/sources",
        "examples/one_stage",
        "examples/bayesian",
        "examples/unsupervised",
        "examples/large",
        "examples/ecosystem",
    ],
    "backreferences_dir": "reference/backreferences",
    "doc_module": ("mercer",),
    "reset_modules": ("gallery_style.apply",),
    "matplotlib_animations": False,
    "remove_config_comments": True,
    "show_memory": False,
    "show_signature": False,
    "download_all_examples": False,
    # Times of examples would make each build of the site another one.
    "min_reported_time": float("inf"),
    "plot_gallery": "True",
    # Values of last lines that are no pages, such as axes, are not shown.
    "capture_repr": ("_repr_html_",),
}

if wheel := os.environ.get("MERCER_WHEEL"):
    # Each example has a button that runs it in the browser. All files of JupyterLite are part of
    # the site; the browser fetches Python itself, which is Pyodide.
    extensions.append("jupyterlite_sphinx")
    sphinx_gallery_conf["jupyterlite"] = {
        "notebook_modification_function": "lite_notebooks.install_wheel"
    }
    # Buttons name notebooks by this folder.
    jupyterlite_contents = ["jupyterlite_contents/auto_examples"]
    jupyterlite_build_command_options = {"piplite-wheels": wheel}
    if pyodide := os.environ.get("MERCER_PYODIDE"):
        jupyterlite_build_command_options["pyodide"] = pyodide
    jupyterlite_silence = True

html_math_renderer = "mathml"
html_theme = "pydata_sphinx_theme"
html_title = "mercer"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["accessible.js"]
html_search_scorer = str(Path(__file__).parent / "_static" / "scorer.js")
html_show_sourcelink = False
html_theme_options = {
    "logo": {"text": f"mercer {release}"},
    # Addresses that the package states, such as that of the repository.
    "icon_links": [
        {"name": name, "url": url, "icon": "fa-solid fa-code-branch"}
        for name, url in (
            entry.split(", ", 1) for entry in metadata("mercer").get_all("Project-URL") or []
        )
    ],
    "navbar_align": "left",
    "header_links_before_dropdown": 7,
    "show_prev_next": True,
    "show_nav_level": 2,
    "navigation_with_keys": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": ["sphinx-version"],
}
html_sidebars = {
    "index": [],
    "changelog": [],
    "glossary": [],
    "papers": [],
    "auto_examples/index": [],
}
