"""tools/site/pages.py: all pages of the site in one folder, as Sphinx reads them.

    pages.py <folder> <names.json> <help.json>

Copies docs/, the examples and the documents that conf.py names, turns links that leave docs/ into
links in the site, and writes the reference and the navigation. names.json is of python_names.py,
help.json of tools/docs.
"""

import fnmatch
import json
import os
import re
import shutil
import sys
from pathlib import Path

import conf
import headers
import python_pages

DOCS = conf.ROOT / "docs"
# A link or a picture; code, which may look like one, is matched without a target.
LINK = r"(?P<picture>!?)\[(?P<label>(?:[^\]`]|`[^`\n]*`)+)\]\((?P<to>[^)\s]*)\)|`[^`\n]*`"
INDEX_OF_PYTHON = """# Python

The modules of the package, each with its public names: what they take, what they give and which
errors they raise. Operators of `opyard.ops.aten` and methods of Tensor have
[a page of their own](../guides/operators.md); `help()` shows all of it at a prompt.

"""
INDEX_OF_CPP = """# C++

The public headers by their folders, each with its names and what is said there. Whatever is in a
folder `detail`, or in a namespace of that name, may change with any version.

"""
INDEX_OF_C = """# C

What C programs, and extension modules of CPython, include. The guides on
[libraries in C](../guides/c_plugins.md) and [C functions](../guides/c_functions.md) show its use.

"""
# Links of the front page to pages that only the site has.
NOT_IN_TREE = re.compile(r"^- Python, C\+\+, C and the command line: .*?(?=\n\n)", re.M | re.S)
IN_SITE = """\
- [Python](reference/python.md) with the [methods of Tensor](reference/python/tensor_methods.md),
  [C++](reference/cpp.md), [C](reference/c.md) and the [command line](reference/command_line.md)."""
LANGUAGES = {".cpp": "cpp", ".h": "cpp", ".c": "c", ".py": "python", ".toml": "toml"}
LANGUAGES |= {".build": "text"}
INDEX_OF_LAYERS = """# Layers

What each layer of the sources has, and its rules: the README of its folder. The
[order of the layers](../concepts/layers.md) is a page of its own.

"""


def site_name(path: str) -> str:
    """What a path from the root is called in the site; empty if it is no page."""
    if path in conf.DOCUMENTS:
        return conf.DOCUMENTS[path]
    if path in ("docs", "docs/README.md"):
        return "index.md"
    if example := re.match(r"examples/(\w+)(?:/|$)", path):
        return f"examples/{example[1]}.md"
    return path.removeprefix("docs/") if path.startswith("docs/") else ""


def with_links(text: str, source: str, target: str) -> str:
    """The text of a document with its links as they have to be in the site."""

    def link(found: "re.Match[str]") -> str:
        label, to = found["label"], found["to"]
        if not to or re.match(r"[a-z]+:|#", to):  # code, elsewhere, or in the page
            return found[0]
        file, mark, anchor = to.partition("#")
        path = os.path.normpath(os.path.join(os.path.dirname(source), file))
        if not (conf.ROOT / path).exists():
            raise SystemExit(f"{source}: the link to {to} leads nowhere")
        if found["picture"]:
            to = os.path.relpath(path.removeprefix("docs/"), os.path.dirname(target) or ".")
            return f"![{label}]({to})"
        name = site_name(path.rstrip("/"))
        if not name:  # a file of the repository that is no page: its path is the text
            shown = label.strip("`")
            return f"`{path}`" if shown == path or shown in path else f"{label} (`{path}`)"
        return f"[{label}]({os.path.relpath(name, os.path.dirname(target) or '.')}{mark}{anchor})"

    parts = re.split(r"(^```.*?^```$)", text, flags=re.M | re.S)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(LINK, link, parts[i])
    return "".join(parts)


def with_pages(text: str, target: str, titles: "dict[str, str]") -> str:
    """The text of a comment or docstring, with a link where it names a page by its path."""

    def link(found: "re.Match[str]") -> str:
        name = found[1].replace("\\", "")
        if name not in titles:
            raise SystemExit(f"{target}: there is no page {found[0]}")
        return f"[{titles[name]}]({os.path.relpath(name, os.path.dirname(target))})"

    parts = re.split(r"(^```.*?^```$|`[^`\n]*`)", text, flags=re.M | re.S)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"docs/((?:guides|reference|concepts|dev)/[\w\\]+\.md)", link, parts[i])
    return "".join(parts)


def example(folder: Path) -> str:
    """The page of an example: its README, and its sources."""
    source = f"examples/{folder.name}/README.md"
    out = [with_links((folder / "README.md").read_text("utf-8"), source, site_name(source))]
    for path in sorted(folder.rglob("*")):
        if path.suffix in LANGUAGES and "build" not in path.relative_to(folder).parts:
            text = path.read_text("utf-8").rstrip("\n")
            name = path.relative_to(folder)
            out += [f"## `{name}`", "", f"````{LANGUAGES[path.suffix]}", text, "````", ""]
    return "\n".join(out)


def command_line(helps: "list[list[str]]") -> str:
    """The page of what each program answers to --help."""
    out = ["# Command line", "", "What the programs answer to `--help`.", ""]
    for command, said in helps:
        out += [f"## `{command}`", "", "```text", said.rstrip(), "```", ""]
    return "\n".join(out)


def toctree(names: "list[str]", caption: str = "", hidden: bool = True) -> str:
    options = [":maxdepth: 1"] + ([":hidden:"] if hidden else [])
    options += [f":caption: '{caption}'"] if caption else []
    return "\n".join(["", "```{toctree}", *options, "", *names, "```", ""])


def navigation(pages: "set[str]") -> str:
    """The side bar: each page once."""
    named = {name for names in conf.NAVIGATION.values() for name in names if not name.endswith("*")}
    out = []
    for caption, names in conf.NAVIGATION.items():
        shown: list[str] = []
        for name in names:
            if not name.endswith("*"):
                shown.append(name)
                continue
            shown += sorted(
                page
                for page in pages
                if fnmatch.fnmatch(page, name)
                and page not in named
                and page.count("/") == name.count("/")
            )
        shown = [name for name in shown if name in pages or fail(f"NAVIGATION: there is no {name}")]
        if shown:
            out.append(toctree(shown, caption))
    return "\n".join(out)


def fail(text: str) -> bool:
    raise SystemExit(text)


def main(folder: Path, names: Path, helps: Path) -> None:
    made: dict[str, str] = {}
    for path in sorted(DOCS.rglob("*.md")):
        source = f"docs/{path.relative_to(DOCS)}"
        target = site_name(source)
        made[target] = with_links(path.read_text("utf-8"), source, target).replace(
            "```graph", "```text"
        )
    for source, target in conf.DOCUMENTS.items():
        made[target] = with_links((conf.ROOT / source).read_text("utf-8"), source, target)
    for readme in sorted((conf.ROOT / "examples").glob("*/README.md")):
        made[f"examples/{readme.parent.name}.md"] = example(readme.parent)
    made["index.md"], replaced = NOT_IN_TREE.subn(IN_SITE, made["index.md"])
    if replaced != 1:
        raise SystemExit("docs/README.md has no line of the reference that tools/docs writes")
    titles = {name: re.search(r"^# (.*)$", text, re.M)[1] for name, text in made.items()}
    work = folder.parent / "doxygen"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    in_cpp = headers.pages(work)
    of_package = python_pages.pages(json.loads(names.read_text("utf-8")))
    for target, text in (in_cpp | of_package).items():
        made[target] = with_pages(text, target, titles)
    made["reference/command_line.md"] = command_line(json.loads(helps.read_text("utf-8")))

    def below(prefix: str) -> "list[str]":
        found = [page for page in made if page.startswith(prefix)]
        order = [f"{prefix}c_api.md", f"{prefix}python.md", f"{prefix}opyard.md"]
        found.sort(key=lambda page: (order.index(page) if page in order else 9, page))
        return [
            os.path.relpath(page, os.path.dirname(prefix.rstrip("/"))).removesuffix(".md")
            for page in found
        ]

    for index, text in {
        "reference/python.md": INDEX_OF_PYTHON,
        "reference/cpp.md": INDEX_OF_CPP,
        "reference/c.md": INDEX_OF_C,
        "dev/layers.md": INDEX_OF_LAYERS,
    }.items():
        made[index] = text + toctree(below(index.removesuffix(".md") + "/"), hidden=False)
    made["index.md"] += navigation({page.removesuffix(".md") for page in made})

    shutil.rmtree(folder, ignore_errors=True)
    for name, text in made.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    for path in DOCS.rglob("*"):
        if path.suffix in (".png", ".svg"):
            copied = folder / path.relative_to(DOCS)
            copied.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(path, copied)


if __name__ == "__main__":
    main(*(Path(name).resolve() for name in sys.argv[1:4]))
