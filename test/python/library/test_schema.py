"""test_schema.py: schemas as Python objects. The language itself is tested in C++ (test_schema*).

Suspect bind/schema.cpp.
"""

import copy
import io
import pickle

import pytest

import opyard
import opyard.library
from opyard.schema import AliasInfo, Argument, Schema, Type, parse

pytestmark = pytest.mark.once

TEXT = (
    "demo::f.ov(Tensor(a!) x, int[2] size, Tensor? y=None, *, float alpha=1., "
    "Tensor(b!) out) -> (Tensor(a!) first, int)"
)


@pytest.fixture
def schema():
    return parse(TEXT)


def test_names(schema):
    assert type(schema) is Schema
    assert (schema.name, schema.overload_name) == ("demo::f", "ov")
    assert parse("f() -> ()").overload_name == ""


@pytest.mark.parametrize(
    ("written", "printed"),
    [
        ("f(Tensor x, str how='sum') -> Tensor", 'f(Tensor x, str how="sum") -> Tensor'),
        ("f(str? how='a') -> ()", 'f(str? how="a") -> ()'),
        ("f(str[] x=['a', \"b\"]) -> ()", 'f(str[] x=["a", "b"]) -> ()'),
        ("f(Device x='cuda:0') -> ()", 'f(Device x="cuda:0") -> ()'),
        ("f(str x='say \"yes\"') -> ()", r'f(str x="say \"yes\"") -> ()'),
        (r"f(str x='it\'s') -> ()", 'f(str x="it\'s") -> ()'),
        ("f(str x='') -> ()", 'f(str x="") -> ()'),
    ],
)
def test_C11_texts_in_single_quotes_are_printed_in_double_ones(written, printed):
    assert str(parse(written)) == printed
    assert parse(printed) == parse(written)


def test_C16_names_that_are_missing_or_double_stay_refused():
    with pytest.raises(ValueError, match="a second argument is named 'a'"):
        parse("f(Tensor a, Tensor a) -> Tensor")
    with pytest.raises(ValueError, match="expected an argument name"):
        parse("f(Tensor!) -> ()")


def test_text_round_trips(schema):
    assert str(schema) == TEXT
    assert parse(str(schema)) == schema
    assert repr(schema) == f"<Schema '{TEXT}'>"


def test_arguments(schema):
    assert [a.name for a in schema.arguments] == ["x", "size", "y", "alpha", "out"]
    assert [str(a.type) for a in schema.arguments] == [
        "Tensor", "int[2]", "Tensor?", "float", "Tensor",
    ]  # fmt: skip
    assert [a.kwarg_only for a in schema.arguments] == [False, False, False, True, True]
    assert [a.N for a in schema.arguments] == [None, 2, None, None, None]
    assert [a.is_out for a in schema.arguments] == [False] * 4 + [True]
    assert [a.is_write for a in schema.arguments] == [True] + [False] * 3 + [True]
    assert all(type(a) is Argument for a in schema.arguments)


def test_results(schema):
    assert [(a.name, str(a.type)) for a in schema.returns] == [("first", "Tensor"), ("", "int")]


@pytest.mark.parametrize(
    ("declared", "value"),
    [
        ("int n=3", 3),
        ("float n=1.5", 1.5),
        ("bool n=True", True),
        ("str n='x'", "x"),
        ("int? n=None", None),
        ("int[] n=[1, 2]", [1, 2]),
        ("int[3] n=1", [1, 1, 1]),
        ("Device n='cpu'", opyard.device("cpu")),
        ("ScalarType n=6", 6),
        ("float n=inf", float("inf")),
    ],
)
def test_default_values(declared, value):
    argument = parse(f"f({declared}) -> ()".replace("'", '"')).arguments[0]
    assert argument.has_default_value()
    assert (type(argument.default_value), argument.default_value) == (type(value), value)


def test_no_default_value(schema):
    x = schema.arguments[0]
    assert not x.has_default_value() and x.default_value is None


def test_alias_sets(schema):
    alias = schema.arguments[0].alias_info
    assert type(alias) is AliasInfo
    assert (alias.is_write, alias.before_set, alias.after_set) == (True, {"a"}, {"a"})
    assert schema.arguments[1].alias_info is None
    alias = parse("f(Tensor(a! -> b|c) x, Tensor(d!)[] y) -> ()").arguments
    assert (alias[0].alias_info.before_set, alias[0].alias_info.after_set) == ({"a"}, {"b", "c"})
    assert alias[1].alias_info.contained[0].before_set == {"d"}
    assert (alias[0].alias_info.before, alias[0].alias_info.after) == (("a",), ("b", "c"))
    assert alias[0].alias_info == parse("g(Tensor(a! -> b|c) x) -> ()").arguments[0].alias_info


@pytest.mark.parametrize(
    ("text", "is_mutable", "is_view", "is_functional"),
    [
        ("f(Tensor x) -> Tensor", False, False, True),
        ("f(Tensor(a!) x) -> Tensor(a!)", True, False, False),
        ("f(Tensor(a) x) -> Tensor(a)", False, True, False),
        ("f(Tensor x) -> ()", False, False, False),
    ],
)
def test_properties(text, is_mutable, is_view, is_functional):
    schema = parse(text)
    assert (schema.is_mutable, schema.is_view, schema.is_functional) == (
        is_mutable, is_view, is_functional,
    )  # fmt: skip


def test_C21_alias_sets_and_out_arguments_are_counted(schema):
    assert (schema.has_any_alias_info, schema.num_out_arguments) == (True, 1)
    plain = parse("f(Tensor x, *, int n) -> Tensor")
    assert (plain.has_any_alias_info, plain.num_out_arguments) == (False, 0)


def test_C8_real_type_keeps_the_name_and_runtime_type_does_not():
    argument = parse("f(ScalarType? d=None, *, int[2] size=1) -> ()").arguments[0]
    assert str(argument.real_type) == "ScalarType?" == str(argument.type)
    assert str(argument.real_type.runtime_type) == "int?"


@pytest.mark.parametrize(
    "text", ["Tensor(a!)? x", 'str s="a\\n"', "int[] n=[1, 2]", 'Device d="cuda:1"', "float f=inf"]
)
def test_C10_an_argument_is_printed_as_it_is_written(text):
    argument = parse(f"f({text}) -> ()").arguments[0]
    assert (str(argument), repr(argument)) == (text, f"<Argument '{text}'>")


def test_variadic():
    schema = parse("f(Tensor x, ...) -> ...")
    assert (schema.is_vararg, schema.is_varret) == (True, True)
    assert (parse("f() -> ()").is_vararg, parse("f() -> ()").is_varret) == (False, False)


@pytest.mark.parametrize(
    ("text", "kind", "elements", "size"),
    [
        ("Tensor", "Tensor", [], None),
        ("ScalarType", "ScalarType", [], None),
        ("int[2]", "List", ["int"], 2),
        ("int[2]?", "Optional", ["int[2]"], 2),
        ("Tensor?[]", "List", ["Tensor?"], None),
        ("(int, str)", "Tuple", ["int", "str"], None),
        ("Dict(str, int)", "Dict", ["str", "int"], None),
        ("Future(int)", "Future", ["int"], None),
        ("t1", "Variable", [], None),
    ],
)
def test_types(text, kind, elements, size):
    found = parse(f"f({text} a) -> ()").arguments[0].type
    assert type(found) is Type
    assert (str(found), repr(found)) == (text, f"<Type '{text}'>")
    assert (found.kind, [str(e) for e in found.elements], found.N) == (kind, elements, size)


def test_every_kind_has_its_name():
    for text, kind in [("int", "Int"), ("Capsule", "Capsule"), ("RRef(int)", "RRef")]:
        assert parse(f"f({text} a) -> ()").arguments[0].type.kind == kind


def test_runtime_types():
    types = [a.type for a in parse("f(ScalarType a, Scalar b, SymInt[] c) -> ()").arguments]
    assert [t.runtime_text for t in types] == ["int", "number", "int[]"]
    assert parse("f(int a) -> ()").arguments[0].type.is_subtype_of(types[1])


def test_equality_and_hash(schema):
    same = parse(TEXT)
    assert schema == same and hash(schema) == hash(same)
    assert schema != parse(TEXT.replace("alpha=1.", "alpha=2."))
    assert schema.arguments[0] == same.arguments[0] != same.arguments[1]
    assert schema.arguments[0].type == same.arguments[4].type
    assert len({a.type for a in schema.arguments}) == 4
    assert schema != TEXT
    assert (schema == 3) is False


def test_copies_and_pickles(schema):
    for again in (copy.copy(schema), copy.deepcopy(schema), pickle.loads(pickle.dumps(schema))):
        assert again == schema


def parts_of(schema):
    return [schema, schema.arguments[0], schema.arguments[0].type, schema.arguments[0].alias_info]


def test_a_pickle_names_only_functions_of_the_package(schema):
    for protocol in range(pickle.HIGHEST_PROTOCOL + 1):
        text = pickle.dumps(schema, protocol)
        names = {f"{a}.{b}" for a, b in names_in(text)}
        assert names == {"opyard.schema.parse"}, protocol
        assert pickle.loads(text) == schema


def names_in(text):
    """The (module, name) pairs that a pickle asks for."""
    found = []

    class Asking(pickle.Unpickler):
        def find_class(self, module, name):
            found.append((module, name))
            return super().find_class(module, name)

    Asking(io.BytesIO(text)).load()
    return found


def test_every_way_to_reduce_an_object_answers_or_raises(schema):
    assert schema.__reduce__() == schema.__reduce_ex__(2) == (parse, (str(schema),))
    for part in parts_of(schema)[1:]:
        name = type(part).__name__
        for reduce in (part.__reduce__, lambda part=part: part.__reduce_ex__(1)):
            with pytest.raises(TypeError, match=f"cannot pickle '{name}' object"):
                reduce()


def test_objects_of_schemas_are_made_by_parse_alone(schema):
    c_function = type(opyard.library.CFunction("aten::neg")._closure)
    for cls in [type(part) for part in parts_of(schema)] + [c_function]:
        below = type(cls)("Below", (cls,), {})
        base = cls.__mro__[-2]  # pybind11's
        for make in (
            cls,
            lambda cls=cls: cls.__new__(cls),
            lambda cls=cls, below=below: cls.__new__(below),
            lambda base=base, cls=cls: base.__new__(cls),
            lambda base=base, below=below: base.__new__(below),
            below,
        ):
            with pytest.raises(TypeError, match="cannot create|is not safe"):
                make()


def test_relations():
    old, new = parse("f(Tensor x) -> Tensor"), parse("f(Tensor x, int n=1) -> Tensor")
    assert new.is_backward_compatible_with(old)
    assert not old.is_backward_compatible_with(new)
    assert new.check_backward_compatible_with(old) == (True, "")
    assert old.check_backward_compatible_with(parse("f(Tensor y) -> Tensor")) == (
        False, "Argument 'x' was named 'y'.",
    )  # fmt: skip
    moved = parse("f(*, int b, int a) -> int")
    fits, why = moved.check_backward_compatible_with(parse("f(*, int a, int b) -> int"))
    assert not fits and why.endswith("where boxed calls give it; calls that name it still work.")
    assert moved.is_backward_compatible_with(parse("f(*, int a, int b) -> int"), by_name=True)
    fits, why = new.check_forward_compatible_with(old)
    assert (fits, why) == (True, "")
    fits, why = parse("f(int x) -> Tensor").check_forward_compatible_with(old)
    assert not fits and why
    assert old.find_difference(new) == "The number of arguments is different. 1 vs 2."
    assert old.find_difference(old) is None


def test_a_text_that_does_not_parse_has_a_caret():
    with pytest.raises(ValueError, match="expected") as caught:
        parse("demo::f(Tensor x")
    assert str(caught.value) == (
        "1:17: expected ',' or ')' but found the end\ndemo::f(Tensor x\n                ^"
    )


def test_what_is_no_text_is_refused():
    with pytest.raises(TypeError):
        parse(3)


def test_parts_outlive_the_whole():
    argument = parse(TEXT).arguments[1]
    kind = argument.type
    del argument
    assert str(kind) == "int[2]"


def test_parts_cannot_be_changed(schema):
    for part in (schema, schema.arguments[0]):
        with pytest.raises(AttributeError):
            part.name = "other"
    with pytest.raises(TypeError):
        Schema()
