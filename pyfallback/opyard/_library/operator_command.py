"""`python -m opyard operators FILE`: checks a file of operators, and writes what others build with.

    python -m opyard operators shop.ops --header include/shop.h --stubs shop.pyi --page shop.md

The header has a C++ function for each operator, with its defaults; the .pyi file is that of
`python -m opyard stubs`; the page lists schemas, documentation, and what the gradients are. The
texts are the same for the same file, and a file that would not change is left alone.
"""

from collections.abc import Sequence
from pathlib import Path

from .._core import hooks, stub_files
from .._core import ops as _ops
from .operator_files import _File, load_operators, read_operators


def header_of(file: _File, names: "Sequence[str]") -> str:
    """The text of a C++ header. Raises NotImplementedError for a type that C++ has none for."""
    return hooks["typed_calls_header"](Path(file.name).name, file.namespace, list(names))


def page_of(file: _File, names: "Sequence[str]") -> str:
    """A page of Markdown."""
    text = f"# Operators of `{file.namespace}`\n"
    for name, block in zip(names, file.blocks, strict=True):
        text += f"\n## `{name}`\n\n```text\n{_ops.operator_of(name).declaration}\n```\n"
        if block.doc:
            text += f"\n{block.doc}\n"
        if block.tags:
            text += f"\nTags: {', '.join(f'`{tag}`' for tag in block.tags)}.\n"
        if block.derivatives:
            text += "\n| argument | gradient |\n| --- | --- |\n"
            for of, formula in block.derivatives:
                written = " ".join(formula.text.split()).replace("|", "\\|")
                text += f"| `{of}` | `{written}` |\n"
        if block.body is not None:
            text += f"\nIts body:\n\n```text\n{block.body.text}\n```\n"
    return text


def main(arguments: "Sequence[str]") -> None:
    """The command line."""
    from importlib import import_module

    from .._core.options import OptionParser

    parser = OptionParser(
        prog="python -m opyard operators",
        description="Checks a file of operators by registering them, and writes a C++ header, "
        "stubs for type checkers and a page.",
    )
    parser.add_argument("file", help="such as shop.ops")
    parser.add_argument("--load", action="append", default=[], help="a plugin to load before")
    parser.add_argument(
        "--import", action="append", default=[], dest="modules_before", metavar="MODULE",
        help="a Python module to import before",
    )  # fmt: skip
    parser.add_argument("--header", type=Path, metavar="OUT", help="the C++ header to write")
    parser.add_argument("--stubs", type=Path, metavar="OUT", help="the .pyi file to write")
    parser.add_argument("--page", type=Path, metavar="OUT", help="the page of Markdown to write")
    asked = parser.parse_args(arguments)
    try:
        for path in asked.load:
            _ops.load_library(path)
        for module in asked.modules_before:
            import_module(module)
        names = load_operators(asked.file).operators
        file = read_operators(asked.file)
        made = {
            asked.header: lambda: header_of(file, names),
            asked.stubs: lambda: stub_files.stub_of(file.namespace),
            asked.page: lambda: page_of(file, names),
        }
        texts = {out: make() for out, make in made.items() if out is not None}
        for out, text in texts.items():
            stub_files.write_files(out.parent, {out.name: text})
    except (ValueError, RuntimeError, LookupError, ImportError, OSError) as error:
        parser.exit(1, f"{error}\n")
    if not texts:
        print(f"{asked.file}: {len(names)} operators of {file.namespace}")
