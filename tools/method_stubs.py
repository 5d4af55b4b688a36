#!/usr/bin/env python3
"""tools/method_stubs.py: writes pyfallback/opyard/_core/_tensor_methods.pyi from the built package.

It says to type checkers what the operators of aten take and give as methods of Tensor: each
overload, once more with NumPy's names where it has such arguments, and once more with arrays in
place of Tensors. Run it with tools/python; --check compares.

Exit code: 0, or 1 with --check if the file is another one.
"""

import inspect
import keyword
import re
import sys
from pathlib import Path

from generated import main

PACKAGE = Path(__file__).resolve().parent.parent / "pyfallback" / "opyard"
FILE = PACKAGE / "_core" / "_tensor_methods.pyi"
HEAD = '''"""Methods of Tensor that are operators of aten: tools/method_stubs.py writes it.

It is for type checkers, and in one piece, since it is one class. Arrays of other libraries are
taken where a Tensor is, and what comes then is of their kind.
"""

# mypy: disable-error-code="overload-overlap, overload-cannot-match, override, misc"
# pyright: reportOverlappingOverload=false

'''
# Aliases, since methods are called int, float and bool, and lines would be long; wider ones first.
ALIASES = {
    "_SymSizes": (
        "_abc.Sequence[_opyard_arrays.Int | _opyard_symbolic.SymInt] | _opyard_arrays.Int"
        " | _opyard_symbolic.SymInt"
    ),
    "_Sizes": "_abc.Sequence[_opyard_arrays.Int] | _opyard_arrays.Int",
    "_SymInt": "_opyard_arrays.Int | _opyard_symbolic.SymInt",
    "_Int": "_opyard_arrays.Int",
    "_Float": "_opyard_arrays.Float",
    "_Bool": "_opyard_arrays.Bool",
    "_Complex": "_opyard_arrays.Complex",
    "_Scalar": "_opyard_arrays.Scalar",
    "_Operand": "_opyard_arrays.Operand",
    "_NDArray": "_opyard_arrays.NDArray",
    "_Array": "_opyard_arrays.ForeignArray",
    "_Tensor": "_opyard.Tensor",
    "_dtype": "_opyard.dtype | _builtins.type | _opyard_arrays.NumPyDType",
    "_int": "_builtins.int",
    "_float": "_builtins.float",
    "_complex": "_builtins.complex",
    "_bool": "_builtins.bool",
    "_str": "_builtins.str",
    "_Any": "_typing.Any",
}
LONGEST_LINE = 100
NUMPYS_NAMES = [
    {"dim": "axis", "dims": "axis", "keepdim": "keepdims"},
    {"dim": "axis", "dims": "axis"},
    {"keepdim": "keepdims"},
]


def aliased(text: str) -> str:
    for alias, written in ALIASES.items():
        text = text.replace(written, alias)
    return text.replace("'", '"')


def definition(name: str, parameters: list[str], result: str) -> str:
    """`def name(...) -> result: ...`, in lines as ruff would have them."""
    parameters, result = [aliased(part) for part in parameters], aliased(result)
    line = f"    def {name}({', '.join(parameters)}) -> {result}: ...\n"
    if len(line) <= LONGEST_LINE + 1:
        return line
    inner = f"        {', '.join(parameters)}\n"
    if len(inner) > LONGEST_LINE + 1:
        inner = "".join(f"        {part},\n" for part in parameters)
    return f"    def {name}(\n{inner}    ) -> {result}: ...\n"


def spread(schema: object, parameters: tuple[str, ...]) -> "tuple[str, ...] | None":
    """The same with ints one by one, as in x.reshape(2, 3), where a list of them is all that is
    given by position."""
    positional = [each for each in schema.arguments[1:] if not each.kwarg_only]
    if len(positional) != 1 or not re.match(r"(SymInt|int)\[\d*\]$", str(positional[0].type)):
        return None
    receiver, sizes, *others = parameters
    name = sizes.partition(":")[0]
    kind = ALIASES["_Int" if str(positional[0].type).startswith("int") else "_SymInt"]
    return (receiver, f"*{name}: {kind}", *(each for each in others if each != "*"))


def ways(packet: object) -> list[tuple[tuple[str, ...], str]]:
    """How the method may be called, and what each way gives."""
    from opyard._core.stub_files import method_parameters, rank_of_way, result_type, ways_to_call

    found: dict[tuple[str, ...], str] = {}
    others: dict[tuple[str, ...], str] = {}
    for overload in packet.overloads():
        schema = getattr(packet, overload)._schema
        if not schema.arguments or str(schema.arguments[0].type) not in ("Tensor", "Tensor?"):
            continue
        if any(argument.kwarg_only and argument.is_write for argument in schema.arguments):
            continue  # written as functions: opyard.ops.aten.add.out(x, y, out=z)
        result = result_type(schema)
        parameters = tuple(method_parameters(schema, {}))
        for way, given in ways_to_call(schema, list(parameters)):
            if schema.arguments[0].is_write:
                given = result  # the tensor itself, whatever is written into it
            (found if given == result else others).setdefault(tuple(way), given)
        for names in NUMPYS_NAMES:
            others.setdefault(tuple(method_parameters(schema, names)), result)
        if (one_by_one := spread(schema, parameters)) is not None:
            others.setdefault(one_by_one, result)
    for way, result in others.items():
        found.setdefault(way, result)
    return sorted(found.items(), key=lambda way: rank_of_way(way[0]))


RESULTS_OF_PYTHON = {"Tensor": "_opyard.Tensor", "bool": "_builtins.bool", "int": "_builtins.int"}


def of_python(name: str, method: object) -> str:
    """The definition of a method that Python makes of operators."""
    signature = inspect.signature(method)
    parameters = ["self"]
    for one in list(signature.parameters.values())[1:]:
        if one.kind is one.KEYWORD_ONLY and "*" not in parameters:
            parameters.append("*")
        default = "" if one.default is one.empty else " = ..."
        parameters.append(f"{one.name}: _typing.Any{default}")
    return definition(name, parameters, RESULTS_OF_PYTHON[signature.return_annotation.__name__])


def text() -> str:
    import opyard
    from opyard._core.stub_files import IMPORTS
    from opyard._tensor.methods import _DTYPES, _METHODS

    stub = (PACKAGE / "_C.pyi").read_text("utf-8")
    own = stub[stub.index("class Tensor(") : stub.index("\ndef tensor(")]
    listed = set(re.findall(r"^    (?:def )?(\w+)[(:]", own, re.MULTILINE))
    parts = [definition(name, ["self"], "_opyard.Tensor") for name in sorted(_DTYPES)]
    for name in sorted({*dir(opyard.ops.aten), *_METHODS} - set(_DTYPES)):
        if name.startswith("_") or keyword.iskeyword(name) or name in listed:
            continue
        if name in _METHODS:
            parts.append(of_python(name, _METHODS[name]))
            continue
        found = ways(getattr(opyard.ops.aten, name))
        for parameters, result in found:
            if len(found) > 1:
                parts.append("    @_typing.overload\n")
            parts.append(definition(name, list(parameters), result))
    aliases = ""
    for alias, written in ALIASES.items():
        line = f"{alias}: _typing.TypeAlias = {written}\n"
        if len(line) > LONGEST_LINE + 1:
            members = re.split(r" \| (?![^\[]*\])", written)  # not inside of brackets
            line = line.replace(written, "(\n    " + "\n    | ".join(members) + "\n)")
        aliases += line
    imports = IMPORTS.replace("from opyard import _C as _opyard_C\n", "")
    return f"{HEAD}{imports}\n{aliases}\nclass TensorMethods:\n{''.join(parts)}"


if __name__ == "__main__":
    sys.exit(main("tools/method_stubs.py", __doc__, FILE, text))
