"""Settings of the documentation. It builds offline and without warnings."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent / "_ext"))

from sphinx.application import Sphinx

import portarray

project = "portarray"
author = "The portarray developers"
copyright = "The portarray developers"
version = release = portarray.__version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_copybutton",
    "sphinx_design",
    "sphinx_gallery.gen_gallery",
    "support_table",
    "upstream_tests",
    "kernel_table",
    "measurements",
    "other_names",
    "numpy_functions",
    "other_libraries",
    "dask_expressions",
]
exclude_patterns = ["_build", "_templates", "drawn"]
templates_path = ["_templates"]
root_doc = "index"

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "signature"
autodoc_preserve_defaults = True
# The only array library that the pages need is NumPy; portarray.clarray imports pyopencl.
autodoc_mock_imports = ["pyopencl"]
# Show types as they are written: DeviceLike, not the union behind it.
python_use_unqualified_type_names = True
numpydoc_show_class_members = False

# Examples run during the build, on the available devices; an error ends the build.
sphinx_gallery_conf = {
    "examples_dirs": "../examples/gallery",
    "gallery_dirs": "auto_gallery",
    "within_subsection_order": "gallery_order.position",
    "image_scrapers": ("gallery_pictures.scrape",),
    "abort_on_example_error": True,
    "backreferences_dir": "auto_gallery/used",
    "doc_module": ("portarray",),
    "reference_url": {"portarray": None},  # names in the code link to their pages
    "download_all_examples": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "css": ("sg_gallery",),
}

myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3

html_theme = "furo"
html_title = f"portarray {release}"
html_show_sourcelink = False
html_logo = html_favicon = "_static/logo.svg"
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_js_files = ["site.js"]
# Copy the commands without their prompts.
copybutton_prompt_text = r"\$ |>>> |\.\.\. "
copybutton_prompt_is_regexp = True

# Until there is a release, pages install from a checkout: pip install ".[cli]".
RELEASED = False


def _installed_from(app: object, name: str, text: list[str]) -> None:
    if RELEASED:
        text[0] = text[0].replace('pip install ".', 'pip install "portarray')


def _without_formulas(
    app: object, kind: str, name: str, object: object, options: object, lines: list[str]
) -> None:
    # One docstring of array-api-extra has a formula, which would load MathJax.
    lines[:] = [line.replace(r":math:`\sqrt{\epsilon}`", "the root of eps") for line in lines]


def setup(app: Sphinx) -> None:
    """Adapt install commands to the release state, and avoid external resources."""
    app.connect("source-read", _installed_from)
    app.connect("autodoc-process-docstring", _without_formulas)
