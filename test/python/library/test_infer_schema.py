"""test_infer_schema.py: annotations of functions become schemas.

Suspect _library/infer_schema.py.
"""

import enum
import inspect
import numbers
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Dict, List, NewType, Optional, Tuple, Union  # noqa: UP035

import pytest

import opyard
from opyard import Tensor
from opyard.futures import Future
from opyard.library import infer_schema
from opyard.schema import parse

Meters = NewType("Meters", float)


class Level(enum.IntEnum):
    HIGH = 3


def loud(kind):
    """A class of numbers or texts that say something else."""

    def says(self, *args):
        return "99"

    return type("Loud", (kind,), {"__repr__": says, "__str__": says, "replace": says})


Loud, LoudFloat, LoudComplex, LoudText = map(loud, (int, float, complex, str))

# Annotation: the type's text as an argument.
TYPES = {
    Tensor: "Tensor",
    int: "SymInt",
    float: "float",
    bool: "bool",
    complex: "complex",
    str: "str",
    numbers.Number: "Scalar",
    opyard.dtype: "ScalarType",
    opyard.device: "Device",
    opyard.Generator: "Generator",
    Any: "Any",
    int | float: "Scalar",
    int | float | bool: "Scalar",
    Union[int, float, complex]: "Scalar",  # noqa: UP007
    int | float | None: "Scalar?",
    int | str: "Union(SymInt, str)",
    Optional[Tensor]: "Tensor?",  # noqa: UP045
    Tensor | None: "Tensor?",
    None | int: "SymInt?",
    list[int]: "SymInt[]",
    List[int]: "SymInt[]",  # noqa: UP006
    Sequence[Tensor]: "Tensor[]",
    list[Tensor | None]: "Tensor?[]",
    list[list[float]]: "float[][]",
    list[int] | None: "SymInt[]?",
    dict[str, Tensor]: "Dict(str, Tensor)",
    Dict[str, int]: "Dict(str, SymInt)",  # noqa: UP006
    Mapping[int, str]: "Dict(SymInt, str)",
    tuple[int, str]: "(SymInt, str)",
    tuple[Tensor, ...]: "Tensor[]",
    dict[str, tuple[int, ...]] | None: "Dict(str, SymInt[])?",
    Tuple[Tensor, Tensor]: "(Tensor, Tensor)",  # noqa: UP006
    Future: "Future(Any)",
    Annotated[int, "a note"]: "SymInt",
    Annotated[list[Annotated[int, 1]], 2]: "SymInt[]",
    Meters: "float",
}


def function_with(annotation, **default):
    parameter = inspect.Parameter(
        "x", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=annotation, **default
    )

    def function(x):
        pass

    function.__signature__ = inspect.Signature([parameter], return_annotation=None)
    function.__annotations__ = {"x": annotation, "return": None}
    return function


@pytest.mark.parametrize("annotation", TYPES, ids=str)
def test_C25_an_annotation_is_a_type(annotation):
    text = infer_schema(function_with(annotation), mutates_args=())
    assert text == f"({TYPES[annotation]} x) -> ()"
    assert parse(str(parse("t::f" + text))) == parse("t::f" + text)


DEFAULTS = [
    (int, 3, "SymInt x=3"),
    (float, 1.0, "float x=1."),
    (float, float("inf"), "float x=inf"),
    (float, -1e-08, "float x=-1e-08"),
    (bool, True, "bool x=True"),
    (complex, 1 + 2j, "complex x=1.+2.j"),
    (str, 'say "é"\n\\', 'str x="say \\"é\\"\\n\\\\"'),
    (Tensor | None, None, "Tensor? x=None"),
    (list[int], [1, 2], "SymInt[] x=[1, 2]"),
    (list[float], (1.5,), "float[] x=[1.5]"),
    (opyard.dtype, opyard.float32, "ScalarType x=6"),
    (opyard.device, opyard.device("cuda:1"), 'Device x="cuda:1"'),
    (numbers.Number, 2, "Scalar x=2"),
    (int, Level.HIGH, "SymInt x=3"),
    (list[int], [Level.HIGH, Loud(4)], "SymInt[] x=[3, 4]"),
    (int, Loud(7), "SymInt x=7"),
    (float, LoudFloat(1.5), "float x=1.5"),
    (complex, LoudComplex(1, 2), "complex x=1.+2.j"),
    (str, LoudText("a"), 'str x="a"'),
]


@pytest.mark.parametrize(("annotation", "default", "expected"), DEFAULTS, ids=lambda v: str(v))
def test_C25_a_default_is_a_default(annotation, default, expected):
    text = infer_schema(function_with(annotation, default=default), mutates_args=())
    assert str(parse("t::f" + text)) == f"t::f({expected}) -> ()"


def test_C25_a_default_of_numpy_is_the_number():
    np = pytest.importorskip("numpy")
    for default in (2.0, np.float64(2.0)):
        text = infer_schema(function_with(float, default=default), mutates_args=())
        assert text == "(float x=2.0) -> ()"
    with pytest.raises(ValueError, match="has a default of type int64"):  # it is no int
        infer_schema(function_with(int, default=np.int64(2)), mutates_args=())


RESULTS = {
    None: "()",
    Tensor: "Tensor",
    list[Tensor]: "Tensor[]",
    int: "SymInt",
    float: "float",
    bool: "bool",
    numbers.Number: "Scalar",
    tuple[Tensor, int]: "(Tensor, SymInt)",
    tuple[Tensor, list[Tensor], float]: "(Tensor, Tensor[], float)",
    Tensor | None: "Tensor?",
}


@pytest.mark.parametrize("annotation", RESULTS, ids=str)
def test_C25_results(annotation):
    def function(x):
        pass

    function.__annotations__ = {"x": Tensor, "return": annotation}
    assert infer_schema(function, mutates_args=()) == f"(Tensor x) -> {RESULTS[annotation]}"


def written(x: Tensor, n: int, ys: list[Tensor], *, out: Tensor | None = None) -> Tensor:
    return x


@pytest.mark.parametrize(
    ("mutates_args", "expected"),
    [
        ((), "(Tensor x, SymInt n, Tensor[] ys, *, Tensor? out=None) -> Tensor"),
        (["x"], "(Tensor(a0!) x, SymInt n, Tensor[] ys, *, Tensor? out=None) -> Tensor"),
        (
            {"ys", "out"},
            "(Tensor x, SymInt n, Tensor(a2!)[] ys, *, Tensor(a3!)? out=None) -> Tensor",
        ),
        (
            "unknown",
            "(Tensor(a0!) x, SymInt n, Tensor(a2!)[] ys, *, Tensor(a3!)? out=None) -> Tensor",
        ),
    ],
)
def test_C25_what_is_written_to(mutates_args, expected):
    assert infer_schema(written, mutates_args=mutates_args) == expected


def test_C25_with_a_name_it_defines_an_operator(library):
    def scaled(x: "Tensor", factor: "float" = 2.0, *, times: "int" = 1) -> "Tensor":
        return x * (factor * times)

    ns = library.ns
    text = infer_schema(scaled, mutates_args=(), op_name=f"{ns}::scaled")
    assert text == f"{ns}::scaled(Tensor x, float factor=2.0, *, SymInt times=1) -> Tensor"
    library.define(text)
    library.impl("scaled", scaled, "CPU")
    op = getattr(opyard.ops, ns).scaled
    assert op(opyard.tensor([1.0]), times=3).tolist() == [6.0]


class Kernels:
    def method(self, x: Tensor) -> Tensor:
        return x

    @staticmethod
    def static(x: Tensor) -> Tensor:
        return x

    def __call__(self, x: Tensor, n: int = 1) -> None:
        return None


def test_C25_methods_and_callable_objects():
    kernels = Kernels()
    assert infer_schema(kernels.method, mutates_args=()) == "(Tensor x) -> Tensor"
    assert infer_schema(Kernels.static, mutates_args=()) == "(Tensor x) -> Tensor"
    assert infer_schema(kernels, mutates_args=()) == "(Tensor x, SymInt n=1) -> ()"


def test_C25_numbers_of_aliases_are_places_of_parameters():
    def function(a: int, b: Tensor, c: Tensor) -> None: ...

    def each(xs: tuple[Tensor, ...]) -> None: ...

    assert infer_schema(each, mutates_args=["xs"]) == "(Tensor(a0!)[] xs) -> ()"
    text = infer_schema(function, mutates_args=["c", "b"])
    assert text == "(SymInt a, Tensor(a1!) b, Tensor(a2!) c) -> ()"


# refusals ---------------------------------------------------------------------------------

ACCEPTED = ("accepted are Tensor, int, float, bool, complex, str, numbers.Number, dtype, device, "
            "Generator, Any, numpy.ndarray, torch.Tensor, Literal, Enum, NamedTuple, dataclass, "
            "and list, dict, tuple, Future and optional of them")  # fmt: skip


def only(x, /) -> None: ...
def many(*xs: Tensor) -> None: ...
def named(**xs: Tensor) -> None: ...
def bare(x, y: int) -> None: ...
def odd(x: bytes) -> None: ...
def which(x: list) -> None: ...
def long(x: Tensor) -> list[tuple[int, ...]]: ...
def alone(x: tuple[int]) -> None: ...
def default(x: Any = object) -> None: ...
def half(x: str = "a\ud800") -> None: ...
def halves(x: list[str] = ["\udfff"]) -> None: ...  # noqa: B006
def wrong_default(x: float = "one") -> None: ...
def fine(x: Tensor, n: int) -> Tensor: ...
def no_result(x: Tensor): ...
def odd_result(x: Tensor) -> set[int]: ...
def alone_result(x: Tensor) -> tuple[Tensor]: ...
def unknown(x: "Nowhere") -> None: ...  # noqa: F821


# Function, mutates_args: the whole message between the prefix and the signature.
REFUSED = {
    "by position only": (only, (),
        "parameter 'x' takes its argument by position only, which a schema cannot say"),
    "any number": (many, (),
        "parameter 'xs' stands for any number of arguments, which a schema cannot say"),
    "any keywords": (named, (),
        "parameter 'xs' stands for any number of arguments, which a schema cannot say"),
    "no annotation": (bare, (), "parameter 'x' must have a type annotation"),
    "unsupported type": (odd, (),
        f"parameter 'x' has the type bytes, which no schema type stands for (say Any, which passes "
        f"bytes as they are, or a Tensor of uint8); {ACCEPTED}"),
    "a list of what": (which, (),
        "parameter 'x' has the type list, which no schema type stands for (say of what, as in "
        f"list[int]); {ACCEPTED}"),
    "a result of any length": (long, (),
        "the result has the type list[tuple[int, ...]], which no schema type stands for (for a "
        f"tuple of any length, say list[T]); {ACCEPTED}, and tuples of them for several results"),
    "a tuple of one": (alone, (),
        "parameter 'x' has the type tuple[int], which no schema type stands for (for a tuple of "
        f"one, say its element's type, or list[T]); {ACCEPTED}"),
    "a result in a tuple of one": (alone_result, (),
        "the result has the type tuple[opyard.Tensor], which no schema type stands for (for a "
        f"tuple of one, say its element's type, or list[T]); {ACCEPTED}, and tuples of them for "
        "several results"),
    "half a surrogate pair": (half, (),
        "parameter 'x' has the default 'a\\ud800', which UTF-8 cannot write, and so no schema: it "
        "has half a surrogate pair"),
    "half a pair in a list": (halves, (),
        "parameter 'x' has the default ['\\udfff'], which UTF-8 cannot write, and so no schema: it "
        "has half a surrogate pair"),
    "unsupported default": (default, (),
        "parameter 'x' has a default of type type, which a schema cannot say; accepted are None, "
        "bool, numbers, str, dtype, device and lists of them"),
    "unknown name": (fine, ["y"], "mutates_args names 'y', and there is no such parameter"),
    "writing to a number": (fine, ["n"],
        "mutates_args names 'n', which is of type int; only tensors are written to"),
    "text": (fine, "x", 'mutates_args is "x"; accepted are "unknown" and names in a list'),
    "no result": (no_result, (),
        "the result must have a type annotation; None for no result"),
    "unsupported result": (odd_result, (),
        f"the result has the type set[int], which no schema type stands for (for a set, say "
        f"list[T]); {ACCEPTED}, and "
        "tuples of them for several results"),
    "unknown annotation": (unknown, (),
        "an annotation names 'Nowhere', which is not known where the function was defined at "
        "module level; import it there, or write the type itself"),
}  # fmt: skip


@pytest.mark.parametrize("case", REFUSED)
def test_C26_a_refusal_names_function_parameter_and_signature(case):
    function, mutates_args, text = REFUSED[case]
    with pytest.raises(ValueError) as info:
        infer_schema(function, mutates_args=mutates_args)
    assert str(info.value) == (
        f"infer_schema({function.__name__}): {text}. "
        f"Got a function with the signature {inspect.signature(function)}"
    )


def test_C26_a_default_of_another_type_is_refused_by_the_schema_language():
    with pytest.raises(ValueError, match=r"infer_schema\(wrong_default\): .* is no schema: "):
        infer_schema(wrong_default, mutates_args=())


# C28 --------------------------------------------------------------------------------------

CONTAINERS = {
    "int[]": ([1, 2], [1, 2]),
    "float[][]": ([[1.0], []], [[1.0], []]),
    "str[]": (["a", "b"], ["a", "b"]),
    "Dict(str, int)": ({"a": 1}, {"a": 1}),
    "Dict(int, Tensor[])": ({1: []}, {1: []}),
    "(int, str)": ((1, "a"), (1, "a")),
    "int?": (None, None),
    "int?[]": ([1, None], [1, None]),
    "Union(int, str)": ("a", "a"),
    "int[2]": (3, [3, 3]),
}


@pytest.mark.parametrize("type_text", CONTAINERS)
def test_C28_containers_are_argument_types(define, type_text):
    given, expected = CONTAINERS[type_text]
    result = type_text.replace("[2]", "[]")
    echo = define(f"echo({type_text} x) -> {result}", CompositeExplicitAutograd=lambda x: x)
    assert echo(given) == expected
    assert type(echo(given)) is type(expected)


def test_C28_functions_and_bytes_pass_as_any(define):
    echo = define("echo(Any x) -> Any", CompositeExplicitAutograd=lambda x: x)
    for thing in (len, b"bytes", lambda: None):
        assert echo(thing) is thing
