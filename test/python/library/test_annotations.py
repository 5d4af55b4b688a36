"""test_annotations.py: operators made of functions whose annotations are users' own classes.

Suspect opyard/_library/annotations.py, infer_schema.py, and member_name() of
objects/convert/convert.cpp.
"""

import collections
import dataclasses
import enum
import pathlib
import typing
from collections.abc import Callable, Iterable
from typing import Any, Literal, NamedTuple, TypedDict

import pytest

import opyard
from opyard import Tensor
from opyard.library import custom_op, infer_schema


class Side(enum.Enum):
    LEFT = 1
    RIGHT = 2


class Word(str, enum.Enum):
    YES = "y"
    NO = "n"


class Level(enum.IntEnum):
    LOW = 1
    HIGH = 3


class Window(NamedTuple):
    size: int
    step: float = 1.0
    side: Side = Side.LEFT


class Shape(TypedDict):
    size: int


@dataclasses.dataclass
class Options:
    size: int
    side: Side = Side.LEFT
    window: Window | None = None
    area: float = dataclasses.field(init=False, default=0.0)
    count: typing.ClassVar[int] = 0
    scale: float = dataclasses.field(kw_only=True, default=1.0)

    def __post_init__(self):
        self.area = self.size * self.scale


@dataclasses.dataclass(frozen=True)
class Nested:
    options: Options
    names: list[str] = dataclasses.field(default_factory=list)


@dataclasses.dataclass
class Unreadable:
    size: dataclasses.InitVar[int]


@dataclasses.dataclass
class Empty:
    pass


seen: list = []


@pytest.fixture
def made(ns):
    seen.clear()

    def make(annotation, default=None):
        def f(x: Tensor, option: annotation) -> Tensor:
            seen.append(option)
            return x.clone()

        if default is not None:
            f.__defaults__ = (default,)
        return custom_op(f"{ns}::f", f, mutates_args=())

    return make


@pytest.fixture
def x():
    return opyard.tensor([1.0, 2.0])


def test_X7_an_enum_passes_by_name(made, x):
    f = made(Side, Side.RIGHT)
    assert str(f.op._schema).endswith('f(Tensor x, str option="RIGHT") -> Tensor')
    f(x, Side.LEFT)
    f(x, "LEFT")
    f(x)
    assert seen == [Side.LEFT, Side.LEFT, Side.RIGHT]
    with pytest.raises(ValueError) as refused:
        f(x, "UP")
    assert str(refused.value) == (
        f"{f.op.name()}: argument 'option' is 'UP', which is no Side; accepted are 'LEFT', 'RIGHT'"
    )


@pytest.mark.parametrize(
    ("kind", "given", "wanted"),
    [
        (Word, Word.NO, Word.NO), (Word, "y", Word.YES), (Level, 3, Level.HIGH),
        (Side | None, None, None), (Side | None, Side.LEFT, Side.LEFT),
        (list[Side], [Side.LEFT, "RIGHT"], [Side.LEFT, Side.RIGHT]),
        (Literal["a", "b"], "b", "b"),
        (Literal["a", None], None, None), (Literal["a", None], "a", "a"),
        (dict[Side, int], {"LEFT": 1}, {Side.LEFT: 1}),
        (dict[str, Side], {"a": "LEFT"}, {"a": Side.LEFT}),
        (Literal[1, 2], 2, 2), (Literal[True], True, True),
        (tuple[int, ...], (1, 2), (1, 2)), (tuple[str, ...], ["a"], ("a",)),
        (tuple[Side, ...] | None, ("LEFT", Side.RIGHT), (Side.LEFT, Side.RIGHT)),
        (Window, Window(3, 2.0), Window(3, 2.0)),
        (Window, (3, 2.0, "RIGHT"), Window(3, 2.0, Side.RIGHT)),
    ],
)  # fmt: skip
def test_X7_a_function_gets_the_class_that_it_names(made, x, kind, given, wanted):
    made(kind)(x, given)
    assert seen == [wanted]
    assert type(seen[0]) is type(wanted)


def test_C28_a_dataclass_stands_for_a_tuple_of_its_fields(made, x):
    f = made(Options)
    fields = "(SymInt, str, (SymInt, float, str)?, float)"
    assert str(f.op._schema).endswith(f"f(Tensor x, {fields} option) -> Tensor")
    given = Options(3, Side.RIGHT, Window(1, 2.0, Side.RIGHT), scale=2.0)
    f(x, given)
    f(x, (3, "RIGHT", (1, 2.0, "RIGHT"), 2.0))
    assert seen == [given, given]
    assert seen[1].area == 6.0, "made by __init__"
    f.op(x, Options(4))
    assert seen[2] == Options(4)
    with pytest.raises(TypeError, match="option"):
        f(x, Options("three", scale=1))
    with pytest.raises(TypeError, match="option"):
        f(x, Window(1))
    with pytest.raises(TypeError, match="option"):
        f(x, Options)


def test_C28_dataclasses_in_dataclasses_lists_and_optionals(made, x):
    nested = Nested(Options(3), ["a"])
    made(Nested)(x, nested)
    made(list[Nested])(x, [nested, Nested(Options(4))])
    made(Options | None)(x, None)
    made(Options | None)(x, Options(5))
    made(dict[str, Options])(x, {"a": Options(6)})
    assert seen == [
        nested, [nested, Nested(Options(4))], None, Options(5), {"a": Options(6)},
    ]  # fmt: skip


def test_C28_a_dataclass_is_a_tuple_in_any_operator(define):
    op = define("op((int, float) pair) -> float", CompositeExplicitAutograd=lambda pair: sum(pair))

    @dataclasses.dataclass
    class Pair:
        first: int
        second: float

    @dataclasses.dataclass
    class Failing:
        first: int

        def __getattribute__(self, name):
            raise KeyError(name)

    assert op(Pair(1, 2.5)) == 3.5
    with pytest.raises(TypeError, match=r"\(int, float\)"):
        op(Options(1))
    with pytest.raises(KeyError):
        op(Failing(1))


def test_C28_a_result_is_no_dataclass():
    def f(size: int) -> list[Options]:
        return []

    with pytest.raises(
        ValueError, match=r"\(a result is a tuple; say a NamedTuple with the fields"
    ):
        infer_schema(f, mutates_args=())


def test_X7_dicts_nested_lists_texts_unions_and_defaults_pass(made, x):
    made(dict[str, list[Tensor]])(x, {"a": [x]})
    assert seen[0]["a"][0] is x
    made(list[str], ["a", "b"])(x)
    made(int | str, "three")(x)
    made(int | str)(x, 3)
    function = str.upper
    made(Any)(x, function)
    made(Any)(x, b"bytes")
    assert seen[1:] == [["a", "b"], "three", 3, function, b"bytes"]


def test_X7_what_a_literal_does_not_name_is_refused(made, x):
    with pytest.raises(
        ValueError, match=r"^\w+::f: argument 'option' is 'c'; accepted are 'a', 'b'"
    ):
        made(Literal["a", "b"])(x, "c")
    with pytest.raises(ValueError, match=r"all str, all int or all bool"):
        infer_schema(made_with(Literal["a", 1]), mutates_args=())


def made_with(annotation):
    def f(option: annotation) -> int:
        return 1

    return f


@pytest.mark.parametrize(
    ("annotation", "advice"),
    [
        (Unreadable, "its InitVar cannot be read from an instance; make it a field"),
        (Empty, "it has no fields that are given"),
        (bytes, "say Any, which passes bytes as they are, or a Tensor of uint8"),
        (Callable[[int], int], "say Any, which passes a function as it is"),
        (set[int], "for a set, say list[T]"),
        (Iterable[int], "say Sequence[T] or list[T]"),
        (collections.OrderedDict, "say dict[K, V]"),
        (pathlib.Path, "for a path, say str"),
        (Shape, "for a TypedDict, say dict[str, T]"),
        (slice, "say Any, which passes any object as it is"),
        (None, "leave the parameter out, or say X | None"),
        (dict, "say of what, as in dict[str, int]"),
    ],
)
def test_X7_what_no_schema_has_is_refused_with_what_to_write(annotation, advice):
    with pytest.raises(ValueError, match="parameter 'option' has the type") as refused:
        infer_schema(made_with(annotation), mutates_args=())
    assert f"({advice})" in str(refused.value)


def test_X7_numbers_and_dtypes_of_numpy_are_refused_with_what_to_write():
    numpy = pytest.importorskip("numpy")
    for kind, said in (
        (numpy.float32, "float"),
        (numpy.int64, "int"),
        (numpy.bool_, "bool"),
        (numpy.complex64, "complex"),
    ):
        with pytest.raises(ValueError, match=rf"\(for a number of NumPy, say {said}\)"):
            infer_schema(made_with(kind), mutates_args=())
    with pytest.raises(ValueError, match=r"\(say opyard\.dtype, for which a caller may give"):
        infer_schema(made_with(numpy.dtype), mutates_args=())


def test_X7_an_array_of_numpy_is_a_tensor_on_the_same_memory(ns, x):
    numpy = pytest.importorskip("numpy")

    def f(a: numpy.ndarray, more: list[numpy.ndarray]) -> numpy.ndarray:
        seen.append((a, more))
        a += 1
        return numpy.sin(a)

    f = custom_op(f"{ns}::f", f, mutates_args=["a"])
    seen.clear()
    assert str(f.op._schema).endswith("f(Tensor(a0!) a, Tensor[] more) -> Tensor")
    array = numpy.ones(2)
    result = f(array, [array, x])
    assert type(result) is numpy.ndarray
    assert result.tolist() == numpy.sin([2.0, 2.0]).tolist()
    assert array.tolist() == [2.0, 2.0]
    assert type(f(x, [])) is Tensor
    assert x.tolist() == [2.0, 3.0]
    assert {type(each) for each in [seen[0][0], *seen[0][1], seen[1][0]]} == {numpy.ndarray}


def test_X7_an_enum_stands_for_its_name_in_any_operator(define, x):
    f = define("f(Tensor x, str s, str[] more=[]) -> str")
    f.default.py_impl("CPU")(lambda x, s, more=None: s + "".join(more or []))
    assert f(x, Side.LEFT) == "LEFT"
    assert f(x, "a", [Side.LEFT, "b"]) == "aLEFTb"
    with pytest.raises(TypeError, match="argument 's'"):
        f(x, Side)
    with pytest.raises(TypeError, match="argument 's'"):
        f(x, collections.OrderedDict())


def test_C26_a_partial_has_the_annotations_of_its_function():
    import functools

    def scale(x: Tensor, factor: float, bias: int = 2) -> Tensor:
        return x

    partial = functools.partial(functools.partial(scale, bias=3), factor=2.0)
    assert infer_schema(partial, mutates_args=()) == (
        "(Tensor x, *, float factor=2.0, SymInt bias=3) -> Tensor"
    )


def test_C26_tags_declare_the_results():
    def add_(x: Tensor, y: Tensor) -> Tensor:
        return x

    def add(x: Tensor, *, out: Tensor) -> Tensor:
        return out

    assert infer_schema(add_, mutates_args=["x"], tags=opyard.Tag.inplace) == (
        "(Tensor(a0!) x, Tensor y) -> Tensor(a0!)"
    )
    assert infer_schema(add, mutates_args=["out"], op_name="t::add", tags=["out"]) == (
        "t::add(Tensor x, *, Tensor(a1!) out) -> Tensor(a1!)"
    )
    with pytest.raises(ValueError, match=r"infer_schema: add has the tag Tag\.inplace, so "):
        infer_schema(add, mutates_args=["out"], tags=opyard.Tag.inplace)


def test_arrays_in_tuples_of_any_length_are_of_the_annotated_class(made, x):
    np = pytest.importorskip("numpy")
    arrays = made(tuple[np.ndarray, ...])
    for given in ((np.ones(2), x), [x], ()):
        arrays(x, given)
        assert type(seen[-1]) is tuple and len(seen[-1]) == len(given)
        assert {type(each) for each in seen[-1]} <= {np.ndarray}
    assert seen[1][0].tolist() == x.tolist()


def test_arrays_in_tuples_and_dicts_are_of_the_annotated_class(ns):
    np = pytest.importorskip("numpy")

    def f(pair: tuple[np.ndarray, int], named: dict[str, np.ndarray]) -> Tensor:
        seen.append((pair, named))
        return opyard.tensor([1.0])

    seen.clear()
    custom_op(f"{ns}::f", f, mutates_args=())((np.ones(2), 3), {"a": opyard.tensor([2.0])})
    [((array, number), named)] = seen
    assert type(array) is np.ndarray and array.tolist() == [1.0, 1.0] and number == 3
    assert type(named["a"]) is np.ndarray and named["a"].tolist() == [2.0]
