"""tools/site/conf.py: the site of the documentation: Sphinx's settings, and the navigation.

tools/docs builds it. The pages are those of docs/, documents of other folders, and the reference
of headers and package; pages.py puts them into one folder. A page that no part of
NAVIGATION names, a link to nowhere and an anchor that is not there end the build.
"""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]

project = "Opyard"
copyright = "the Opyard authors, Apache-2.0"
release = version = re.search(r"version: '([\d.]+)'", (ROOT / "meson.build").read_text("utf-8"))[1]
root_doc = "index"
extensions = ["myst_parser", "sphinx_copybutton"]
myst_heading_anchors = 4  # links to sections, as GitHub has them
suppress_warnings = ["myst.header"]  # a section two levels below another
highlight_language = "text"
copybutton_prompt_text = "$ "
html_theme = "furo"
html_title = f"Opyard {release}"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {"color-brand-primary": "#3b4fb8", "color-brand-content": "#3b4fb8"},
    "dark_css_variables": {"color-brand-primary": "#9db0ff", "color-brand-content": "#9db0ff"},
}

# Documents of other folders that are pages here, by their names in the site.
DOCUMENTS = {
    "README.md": "overview.md",
    "CHANGELOG.md": "changes.md",
    "CONTRIBUTING.md": "dev/contributing.md",
    "tools/README.md": "dev/tools.md",
    "test/README.md": "dev/tests.md",
    **{
        f"{layer}/README.md": f"dev/layers/{layer}.md"
        for layer in (
            "dispatcher",
            "jit",
            "models",
            "autograd",
            "profiler",
            "kernels",
            "pyfallback",
        )
    },
}

# Caption by caption what the side bar has. A name that ends in * is every page there that is not
# named elsewhere; the index of the Python and C++ reference are pages that pages.py writes.
NAVIGATION = {
    "": ["overview"],
    "Tutorials": ["tutorials/*"],
    "Guides: operators": [
        "guides/custom_ops",
        "guides/kernels",
        "guides/c_plugins",
        "guides/c_functions",
        "guides/gil",
        "guides/testing",
        "guides/overriding",
        "guides/handlers",
        "guides/reloading",
        "guides/packages",
        "guides/wheels",
        "guides/stubs",
        "guides/publishing",
        "guides/remote",
        "guides/extensions",
        "guides/embedding",
        "guides/*",
    ],
    "Guides: arrays, training, graphs": [
        "guides/arrays",
        "guides/from_pytorch",
        "guides/training",
        "guides/gradients",
        "guides/models",
        "models",
        "guides/graphs",
        "guides/futures",
    ],
    "Guides: profiling": ["guides/profiling"],
    "Examples": ["examples/*"],
    "Concepts": ["concepts/words", "concepts/a_call", "concepts/layers", "concepts/*"],
    "Reference": [
        "guides/operators",
        "reference/python",
        "reference/cpp",
        "reference/c",
        "reference/command_line",
        "reference/environment",
        "reference/graph_text",
        "reference/formulas",
        "reference/operator_files",
        "reference/*",
    ],
    "Developing Opyard": [
        "dev/contributing",
        "dev/tools",
        "dev/tests",
        "dev/layers",
        "dev/*",
        "dev/free_threading/*",
        "changes",
    ],
}
