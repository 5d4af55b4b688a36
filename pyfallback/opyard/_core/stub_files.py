"""`python -m opyard stubs`: the operators of a namespace as a .pyi file for type checkers.

    python -m opyard stubs --load libdemo.so --out mypackage demo      mypackage/demo.pyi
    python -m opyard stubs --package --out typings                     typings/opyard-stubs/

[Module] `demo.pyi` describes a module whose attributes are those of opyard.ops.demo. With --modules
such a module is written beside it. Each operator has a class of its own, so that a checker knows
its overloads by call and by name.

[Arrays] What takes a Tensor takes arrays of other libraries as well, and then gives their kind:
further overloads say so, one for NumPy's and one for all others.

[Order] A Tensor has __index__ and __float__, as arrays have, so a parameter that takes numbers
accepts them, too. Of the ways to call, those with Tensors come first, then those with arrays.

[Package] `opyard-stubs` is a partial stub package (PEP 561) that describes opyard.ops itself: aten
and the namespaces of all installed packages, if none is named. It goes where packages are
installed.

The text is the same for the same operators. Names of types are qualified, since an overload may be
called "int" and an operator "list".
"""

import keyword
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import _C
from . import ops as _ops
from .layout import Layout
from .near_names import hint, near_module
from .whole_file import whole_file

_HEAD = """\
# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
# pyright: reportOverlappingOverload=false, reportIncompatibleMethodOverride=false
# Made by python -m opyard stubs; do not edit.
"""

IMPORTS = """\
import builtins as _builtins
import collections.abc as _abc
import typing as _typing

import opyard as _opyard
from opyard import _C as _opyard_C
from opyard._core import _array_types as _opyard_arrays
from opyard._core import layout as _opyard_layout
from opyard._tensor import symbolic as _opyard_symbolic
"""

_PLAIN = {
    "Tensor": "_opyard.Tensor",
    "Str": "_builtins.str",
    "Generator": "_opyard.Generator",
    "Layout": "_opyard_layout.Layout",
    "Future": "_opyard_C.Future",
    "None": "None",
}
_ARRAY = "_opyard_arrays.ForeignArray"
_NUMPYS = "_opyard_arrays.NDArray"
# Operators that take a number for their last Tensor, which none of their overloads says.
_TAKE_NUMBERS = {"aten::copy_"}
# As an argument, and as a result.
_WIDER = {
    "Int": ("_opyard_arrays.Int", "_builtins.int"),
    "Float": ("_opyard_arrays.Float", "_builtins.float"),
    "Bool": ("_opyard_arrays.Bool", "_builtins.bool"),
    "Complex": ("_opyard_arrays.Complex", "_builtins.complex"),
    # To a checker, int and float are complex.
    "Scalar": ("_opyard_arrays.Scalar", "_builtins.complex"),
    "ScalarType": (
        "_opyard.dtype | _builtins.type | _opyard_arrays.NumPyDType",
        "_opyard.dtype",
    ),
    "Device": ("_opyard.device | _builtins.str", "_opyard.device"),
    "SymInt": (
        "_opyard_arrays.Int | _opyard_symbolic.SymInt",
        "_builtins.int | _opyard_symbolic.SymInt",
    ),
    "SymFloat": (
        "_opyard_arrays.Float | _opyard_symbolic.SymFloat",
        "_builtins.float | _opyard_symbolic.SymFloat",
    ),
    "SymBool": (
        "_opyard_arrays.Bool | _opyard_symbolic.SymBool",
        "_builtins.bool | _opyard_symbolic.SymBool",
    ),
}


def _type(written: Any, of_result: bool) -> str:
    """A schema type as a checker takes it; Any for what has none."""
    kind = written.kind
    # To a checker, a Dict and a Future of ints are none of a wider type.
    as_they_are = of_result or kind in ("Dict", "Future")
    elements = [_type(each, as_they_are) for each in written.elements]
    if kind == "Optional":
        return elements[0] if elements[0].endswith(" | None") else f"{elements[0]} | None"
    if kind == "List":
        if of_result:
            return f"_builtins.list[{elements[0]}]"
        many = f"_abc.Sequence[{elements[0]}]"
        return f"{many} | {elements[0]}" if written.N is not None else many
    if kind == "Dict":
        return f"_builtins.dict[{elements[0]}, {elements[1]}]"
    if kind == "Tuple":
        return f"_builtins.tuple[{', '.join(elements) or '()'}]"
    if kind == "Future":
        return f"_opyard_C.Future[{elements[0] if elements else '_typing.Any'}]"
    if kind == "Union":
        return " | ".join(dict.fromkeys(elements)) or "_typing.Any"
    if kind in _WIDER:
        return _WIDER[kind][of_result]
    return _PLAIN.get(kind, "_typing.Any")


def _default(argument: Any) -> str:
    from .signatures import default_of

    value, kind = default_of(argument), argument.type
    if isinstance(value, _C.dtype):
        return f"_opyard.{value.name}"
    if isinstance(value, Layout):
        return f"_opyard_layout.Layout.{value.name}"
    while kind.kind == "Optional":
        [kind] = kind.elements
    if isinstance(value, str) and kind.kind not in ("Str", "Device"):
        return "..."
    plain = value is None or isinstance(value, (bool, int, str))
    finite = isinstance(value, float) and value - value == 0
    return repr(value) if plain or finite else "..."


def _is_name(text: str) -> bool:
    return text.isidentifier() and not keyword.iskeyword(text)


def ways_to_call(schema: Any, parameters: "list[str]") -> "list[tuple[list[str], str]]":
    """Parameters and results: with Tensors, a number if it takes one, and arrays. See [Arrays]."""
    tensor, result = _PLAIN["Tensor"], result_type(schema)
    ways = [(parameters, result)]
    if schema.name in _TAKE_NUMBERS:
        last = max(at for at, part in enumerate(parameters) if tensor in part)
        number = parameters[last].replace(tensor, "_opyard_arrays.Operand")
        ways.append(([*parameters[:last], number, *parameters[last + 1 :]], result))
    of_arrays = [part.replace(tensor, _ARRAY) for part in parameters]
    if of_arrays != parameters:
        numpys = [part.replace(tensor, _NUMPYS) for part in parameters]
        ways.append((numpys, result.replace(tensor, _NUMPYS)))
        ways.append((of_arrays, "None" if result == "None" else "_typing.Any"))
    return ways


_LONGEST = 16  # more parameters than this do not decide the order


def rank_of_way(parameters: "Sequence[str]") -> "list[int]":
    """By which ways to call are sorted. See [Order]."""
    ranks = []
    for part in parameters:
        if ":" not in part:
            continue  # the receiver, or a separator
        kinds = (_PLAIN["Tensor"], _NUMPYS, _ARRAY)
        ranks.append(next((rank for rank, kind in enumerate(kinds) if kind in part), len(kinds)))
    return (ranks + [3] * _LONGEST)[:_LONGEST]


def _parameters(schema: Any) -> "list[str]":
    """What is between the parentheses of an operator. The object itself comes first."""
    from .signatures import free_name

    names = {argument.name for argument in schema.arguments}
    return _listed(schema, schema.arguments, [free_name("self__", names), "/"], {})


def method_parameters(schema: Any, renamed: "Mapping[str, str]") -> "list[str]":
    """What is between the parentheses of the method: its first argument is the tensor. Arguments
    may have other names there."""
    from .signatures import free_name

    arguments = schema.arguments[1:]
    receiver = free_name("self", {argument.name for argument in arguments})
    return _listed(schema, arguments, [receiver], renamed)


def _listed(
    schema: Any, arguments: "Sequence[Any]", parts: "list[str]", renamed: "Mapping[str, str]"
) -> "list[str]":
    """The parameters behind those that are there."""
    from .signatures import free_name

    names = {argument.name for argument in schema.arguments}
    args, kwargs = (f"{free_name(name, names)}: _typing.Any" for name in ("args", "kwargs"))
    named_only = False
    more = ""
    for argument in arguments:
        name = renamed.get(argument.name, argument.name)
        if argument.kwarg_only and not named_only:
            if schema.is_vararg:
                parts.append(f"*{args}")
            parts.append("*")
            named_only = True
        if not _is_name(name):
            if argument.kwarg_only:
                more = f"**{kwargs}"  # it can be given by ** only
                continue
            # By position only, and so are all before it.
            if "/" in parts:
                parts.remove("/")
            name = free_name(f"{name}_", names)
            names.add(name)
            parts += [f"{name}: {_type(argument.type, False)}", "/"]
        else:
            parts.append(f"{name}: {_type(argument.type, False)}")
        if argument.has_default_value():
            at = -2 if parts[-1] == "/" else -1
            parts[at] += f" = {_default(argument)}"
    if parts[-1] == "*":
        parts.pop()
    if schema.is_vararg and not named_only:
        parts.append(f"*{args}")
    if schema.is_vararg and named_only:
        parts.remove("*")
    return [*parts, more] if more else parts


def result_type(schema: Any) -> str:
    """What a call gives, as a checker takes it."""
    types = [_type(result.type, True) for result in schema.returns]
    if schema.is_varret:
        return "_typing.Any"
    if not types:
        return "None"
    return types[0] if len(types) == 1 else f"_builtins.tuple[{', '.join(types)}]"


def _docstring(text: str, indent: str) -> str:
    text = text.replace("\\", "\\\\").replace('"""', '\\"\\"\\"').rstrip()
    lines = text.splitlines() or [""]
    if lines[-1].endswith('"'):
        lines[-1] = lines[-1][:-1] + '\\"'
    body = "\n".join([lines[0], *(f"{indent}{line}".rstrip() for line in lines[1:])])
    end = f"\n{indent}" if len(lines) > 1 else ""
    return f'{indent}"""{body}{end}"""\n'


def _calls(ops: "Sequence[_C.OpOverload]") -> str:
    """The ways to call these. See [Order]."""
    from .signatures import doc

    ways = []
    for op in ops:
        text = _docstring(doc(op), " " * 8)
        for parameters, result in ways_to_call(op._schema, _parameters(op._schema)):
            written = f"    def __call__({', '.join(parameters)}) -> {result}:\n{text}"
            ways.append((rank_of_way(parameters), written))
    ways.sort(key=lambda way: way[0])
    several = "    @_typing.overload\n" if len(ways) > 1 else ""
    return "".join(several + written for _, written in ways)


def _class_of(base: str, overload: str = "") -> str:
    """The name of a packet's class or an operator's; with a length, so that no two are alike."""
    return f"_Operator{len(base)}_{base}_{overload}" if overload else f"_Packet_{base}"


def _classes(base: str, packet: "_C.OpOverloadPacket") -> str:
    """The classes of one packet and of its operators."""
    text = ""
    ops = {overload: getattr(packet, overload) for overload in _ops.overload_names(packet)}
    for overload, op in ops.items():
        text += f"class {_class_of(base, overload)}(_opyard_C.OpOverload):\n{_calls([op])}\n"
    text += f"class {_class_of(base)}(_opyard_C.OpOverloadPacket):\n"
    text += _calls(list(ops.values()))
    for overload in ops:
        if _is_name(overload):
            text += f"    {overload}: {_class_of(base, overload)}\n"
    return text + "\n"


def _names(namespace: str) -> "list[str]":
    return [name for name in dir(getattr(_ops.ops, namespace)) if _is_name(name)]


def _packets(namespace: str) -> "dict[str, _C.OpOverloadPacket]":
    found = {name: getattr(getattr(_ops.ops, namespace), name) for name in _names(namespace)}
    if not found:
        near = hint(namespace, ["aten", *namespaces()])
        raise LookupError(
            f"no operator of the namespace {namespace} is defined{near}; "
            "load the library or import the module that defines them"
        )
    return found


def stub_of(namespace: str) -> str:
    """The text of <namespace>.pyi. Raises LookupError if it has no operators. See [Module]."""
    packets = _packets(namespace)
    text = f'{_HEAD}"""The operators of opyard.ops.{namespace}."""\n\n{IMPORTS}\n'
    for base, packet in packets.items():
        text += _classes(base, packet)
    return text + "".join(f"{base}: {_class_of(base)}\n" for base in packets)


def _require_name(namespace: str) -> None:
    if not _is_name(namespace):
        raise LookupError(
            f"{namespace!r} is no name in Python, so no module or attribute is called so; "
            f"operators of this namespace are found by getattr(opyard.ops, {namespace!r})"
        )


def module_of(namespace: str) -> str:
    """The text of <namespace>.py, which has the attributes that the stub describes. Raises
    LookupError if no module can be called so.
    """
    _require_name(namespace)
    return (
        f'"""The operators of opyard.ops.{namespace}. Made by python -m opyard stubs."""\n\n'
        "import opyard\n\n\n"
        "def __getattr__(name: str) -> object:\n"
        f"    return getattr(opyard.ops.{namespace}, name)\n\n\n"
        "def __dir__() -> list[str]:\n"
        f"    return dir(opyard.ops.{namespace})\n"
    )


def package_of(namespaces: "Iterable[str]") -> "dict[str, str]":
    """The files of the stub package by name; raises as module_of() does. See [Package]."""
    files = {"py.typed": "partial\n"}
    text = f'{_HEAD}"""opyard.ops, as it is with these libraries loaded."""\n\n{IMPORTS}'
    classes = ""
    for namespace in namespaces:
        _require_name(namespace)
        files[f"_ops_{namespace}.pyi"] = stub_of(namespace)
        text += f"from opyard import _ops_{namespace}\n"
        classes += f"\nclass _Of_{namespace}(_OpNamespace):\n"
        classes += "".join(
            f"    {base}: _ops_{namespace}.{_class_of(base)}\n" for base in _names(namespace)
        )
    text += "\nclass _OpNamespace:\n    __name__: _builtins.str\n"
    text += classes + "\nclass _Ops(_opyard_C.NameSpace):\n"
    text += "    def load_library(self, path: _typing.Any) -> _typing.Any: ...\n"
    text += "".join(f"    {n}: _Of_{n}\n" for n in namespaces)
    # Namespaces that are not described here may be anything, as without this package.
    text += "\nops: _Ops\n\ndef __getattr__(name: _builtins.str) -> _typing.Any: ...\n"
    files["_core/__init__.pyi"] = "hooks: dict\n"
    files["_core/ops.pyi"] = text
    return files


def namespaces() -> "list[str]":
    """Those that have operators now, sorted."""
    from .. import _bind

    names = {name.partition("::")[0] for name in _bind.operator_names()}
    return sorted(filter(_is_name, names))


def write_files(folder: Path, files: "dict[str, str]") -> None:
    """Writes files into a folder; one that would not change is left alone."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files.items():
        path = folder / name
        if not path.exists() or path.read_text("utf-8") != text:
            path.parent.mkdir(exist_ok=True)
            with whole_file(path) as file:
                file.write(text.encode())


def main(arguments: "Sequence[str]", load_all: "Callable[[], object]") -> None:
    """The command line. `load_all` loads what all installed packages bring."""
    from importlib import import_module

    from .options import OptionParser

    parser = OptionParser(
        prog="python -m opyard stubs",
        description="Writes the operators of namespaces as .pyi files for type checkers.",
    )
    parser.add_argument(
        "namespace",
        nargs="*",
        help="by default those that --load and --import bring; with --package all that there are",
    )
    parser.add_argument("--load", action="append", default=[], help="a plugin to load before")
    parser.add_argument(
        "--import", action="append", default=[], dest="modules_before", metavar="MODULE",
        help="a Python module to import before",
    )  # fmt: skip
    parser.add_argument(
        "--out", type=Path, metavar="DIR", help="the folder; without it the text is printed"
    )
    form = parser.add_mutually_exclusive_group()
    form.add_argument(
        "--modules",
        action="store_true",
        help="also a module NAMESPACE.py beside each NAMESPACE.pyi",
    )
    form.add_argument(
        "--package",
        action="store_true",
        help="the stub package opyard-stubs, for opyard.ops itself",
    )
    asked = parser.parse_args(arguments)
    if asked.out is None and (asked.modules or asked.package):
        parser.error("--modules and --package write several files: say where with --out")
    try:
        for path in asked.load:
            _ops.load_library(path)
        for module in asked.modules_before:
            import_module(module)
        if asked.package and not asked.namespace:
            _ops.load_aten()
            load_all()
        wanted = asked.namespace or namespaces()
        if not wanted:
            raise LookupError(
                "no operator is defined, so there is nothing to write; name a namespace, such as "
                "aten, or load a library with operators"
            )
        if asked.package:
            return write_files(asked.out / "opyard-stubs", package_of(wanted))
        stubs = {f"{namespace}.pyi": stub_of(namespace) for namespace in wanted}
        if asked.out is None:
            print("\n".join(stubs.values()), end="")
            return None
        modules = {f"{name}.py": module_of(name) for name in wanted} if asked.modules else {}
        return write_files(asked.out, stubs | modules)
    except ModuleNotFoundError as error:
        parser.error(f"{error}{near_module(error.name or '')}")
    except (LookupError, ImportError, OSError) as error:
        parser.error(str(error))
