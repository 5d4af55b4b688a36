"""`python -m opyard operators FILE`: checks a file of operators, and writes what others build with.

    python -m opyard operators shop.ops --header include/shop.h --stubs shop.pyi --page shop.md

The header has a C++ function for each operator, with its defaults; the .pyi file is that of
`python -m opyard stubs`; the page lists schemas, documentation, and what the gradients are. The
texts are the same for the same file, and a file that would not change is left alone.
"""

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from .. import _C
from .._core import ops as _ops
from .._core import stub_files
from .._core.queries import metadata
from .._core.signatures import default_of
from .operator_files import _File, load_operators, read_operators

# As a parameter, and as a result.
_CPP = {
    "Tensor": ("const opyard::Tensor&", "opyard::Tensor"),
    "Int": ("std::int64_t", "std::int64_t"),
    "SymInt": ("std::int64_t", "std::int64_t"),
    "Float": ("double", "double"),
    "Bool": ("bool", "bool"),
    "Str": ("std::string_view", "std::string"),
    "Scalar": ("const opyard::Scalar&", "opyard::Scalar"),
    "ScalarType": ("opyard::DType", "opyard::DType"),
    "Device": ("opyard::Device", "opyard::Device"),
    "Layout": ("opyard::Layout", "opyard::Layout"),
}
_KEYWORDS = frozenset(
    "alignas alignof and asm auto bool break case catch char class const constexpr continue "
    "default delete do double else enum explicit export extern false float for friend goto if "
    "inline int long mutable namespace new noexcept not nullptr operator or private protected "
    "public register return short signed sizeof static struct switch template this throw true "
    "try typedef typeid typename union unsigned using virtual void volatile while xor".split()
)


def _cpp_name(name: str) -> str:
    return f"{name}_" if name in _KEYWORDS else name


def _cpp_type(kind: Any, of_result: bool) -> str:
    """The C++ type of a schema's. Raises LookupError where the header has none."""
    elements = kind.elements
    if kind.kind == "List":
        if not of_result and elements[0].kind in ("Int", "SymInt"):
            return "opyard::IntSpan"
        inner = _cpp_type(elements[0], True)
        return f"std::vector<{inner}>" if of_result else f"const std::vector<{inner}>&"
    if kind.kind == "Optional":
        inner = _cpp_type(elements[0], True)
        return f"std::optional<{inner}>" if of_result else f"const std::optional<{inner}>&"
    if kind.kind not in _CPP:
        raise LookupError(f"the type {kind} has no C++ type in a header that is made")
    return _CPP[kind.kind][of_result]


def _cpp_default(argument: Any) -> "str | None":
    """The default in C++, or None where there is none to write."""
    if not argument.has_default_value():
        return None
    value, kind = default_of(argument), argument.type.kind
    if value is None:
        return "std::nullopt"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return f"opyard::Scalar(std::int64_t{{{value}}})" if kind == "Scalar" else str(value)
    if isinstance(value, float) and value - value == 0:
        return f"opyard::Scalar({value!r})" if kind == "Scalar" else repr(value)
    if isinstance(value, str) and kind == "Str":
        return json.dumps(value)
    if isinstance(value, (list, tuple)) and not value:
        return "{}"
    return None


def _cpp_function(op: "_C.OpOverload") -> str:
    """One operator in C++: what is called, and the handle that it is called by."""
    schema = op._schema
    types = [_cpp_type(argument.type, False) for argument in schema.arguments]
    names = [_cpp_name(argument.name) for argument in schema.arguments]
    results = [_cpp_type(result.type, True) for result in schema.returns]
    result = "void" if not results else results[0]
    if len(results) > 1:
        result = f"std::tuple<{', '.join(results)}>"
    parameters, open_end = [], True
    for argument, kind, name in reversed(list(zip(schema.arguments, types, names, strict=True))):
        default = _cpp_default(argument) if open_end else None
        open_end = default is not None
        parameters.append(f"{kind} {name}" + (f" = {default}" if open_end else ""))
    called = op.name()
    text = "".join(f"// {line}\n" for line in (str(schema), *metadata(op)["doc"].splitlines()))
    return (
        f"{text}inline {result} {_cpp_name(called.partition('::')[2].partition('.')[0])}"
        f"({', '.join(reversed(parameters))}) {{\n"
        f"  static constinit opyard::FoundOperator<{result}({', '.join(types)})> op(\n"
        f"      {json.dumps(called)});\n"
        f"  {'' if result == 'void' else 'return '}op.call({', '.join(names)});\n}}\n"
    )


def header_of(file: _File, names: "Sequence[str]") -> str:
    """The text of a C++ header. Raises LookupError for an operator with a type that it has not."""
    text = (
        f"// Typed calls of the operators of {Path(file.name).name}. Made by python -m opyard "
        "operators; do not edit.\n#pragma once\n\n#include <cstdint>\n#include <optional>\n"
        "#include <string>\n#include <string_view>\n#include <tuple>\n#include <vector>\n\n"
        "#include <opyard/registry/found_operator.h>\n#include <opyard/tensor.h>\n\n"
        f"namespace {file.namespace} {{\n"
    )
    for name in names:
        try:
            text += "\n" + _cpp_function(_ops.operator_of(name))
        except LookupError as error:
            raise LookupError(f"{name}: {error}") from None
    return f"{text}\n}}  // namespace {file.namespace}\n"


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

    parser = argparse.ArgumentParser(
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
