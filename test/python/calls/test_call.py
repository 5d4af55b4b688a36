"""test_call.py: binding Python arguments to a schema. Suspect binding.cpp and convert.cpp.

The texts of C29 are compared whole: people match on them.
"""

import array
import sys

import pytest
from raised import message_of

import opyard


@pytest.fixture
def foo(define):
    return define(
        "foo(Tensor x, int y, float z=2.0, *, str s='d') -> (Tensor, int, float, str)".replace(
            "'", '"'
        ),
        CompositeExplicitAutograd=lambda x, y, z=2.0, *, s="d": (x, y, z, s),
    )


# C29, a to f: the texts -------------------------------------------------------------------


def test_C29a_missing_argument(foo, x):
    declaration = foo.default.declaration
    assert message_of(TypeError, foo, x) == (
        f"{foo.qualified_name}() is missing value for argument 'y'. Declaration: {declaration}"
    )
    assert message_of(TypeError, foo.default) == (
        f"{foo.qualified_name}() is missing value for argument 'x'. Declaration: {declaration}"
    )


def test_C29a_the_declaration_is_the_printed_schema(foo, ns):
    assert foo.default.declaration == (
        f'{ns}::foo(Tensor x, int y, float z=2., *, str s="d") -> (Tensor, int, float, str)'
    )


def test_C29b_too_many_positional_arguments(foo, x):
    assert message_of(TypeError, foo, x, 1, 2.0, "s") == (
        f"{foo.qualified_name}() takes 3 positional argument(s) but 4 was/were given.  "
        f"Declaration: {foo.default.declaration}\nGive the others by name: s."
    )


def test_C29b_what_to_do_is_said_in_the_next_line(x):
    def last_line(call, *args):
        with pytest.raises(TypeError) as raised:
            call(*args)
        return str(raised.value).splitlines()[-1]

    aten = opyard.ops.aten
    assert last_line(aten.reshape, x, 2, "2") == "Give 'shape' as a list of ints, or int by int."
    assert last_line(aten.add.Tensor, x, x, 2) == "Give the others by name: alpha."
    assert last_line(aten.sin.default, x, 2) == "Leave the last one out."
    assert last_line(aten.sin.default, x, 2, 3) == "Leave the last 2 out."


def test_C29c_unknown_keyword(foo, x):
    assert message_of(TypeError, foo, x, 1, bogus=3) == (
        f"Unknown keyword argument 'bogus' for operator '{foo.qualified_name}'. "
        f"Schema: {foo.default.declaration}"
    )


@pytest.mark.parametrize(
    ("args", "twice"),
    [((1,), "y"), ((1, 2.5), "z"), ((1, 2.5), "x")],
    ids=["required", "defaulted", "first"],
)
def test_C29d_argument_given_twice(foo, x, args, twice):
    assert message_of(TypeError, foo, x, *args, **{twice: 5}) == (
        f"Argument '{twice}' specified both as positional and keyword argument. "
        f"Schema: {foo.default.declaration}"
    )


def test_C29e_wrong_type(foo, x):
    assert message_of(TypeError, foo, x, "a") == (
        f"{foo.qualified_name}() Expected a value of type 'int' for argument 'y' "
        "but instead found type 'str'.\n"
        "Position: 1\n"
        "Value: 'a'\n"
        f"Declaration: {foo.default.declaration}"
    )


def test_C29e_wrong_type_of_a_keyword(foo, x):
    assert message_of(TypeError, foo, x, 1, s=None) == (
        f"{foo.qualified_name}() Expected a value of type 'str' for argument 's' "
        "but instead found type 'NoneType'.\n"
        "Position: 3\n"
        "Value: None\n"
        f"Declaration: {foo.default.declaration}"
    )


def test_C29e_a_list_is_shown_whole(define):
    op = define("op(int[] n) -> ()", CompositeExplicitAutograd=lambda n: None)
    assert message_of(TypeError, op, [1, "two", 3]) == (
        f"{op.qualified_name}() Expected a value of type 'int[]' for argument 'n' "
        "but instead found type 'list'.\n"
        "Position: 0\n"
        "Value: [1, 'two', 3]\n"
        f"Declaration: {op.default.declaration}\n"
        "Cast error details: n[1] is of type 'str', where 'int' is expected"
    )


def test_C29e_a_value_that_cannot_show_itself(foo, x):
    class Shy:
        def __repr__(self):
            raise ValueError("no")

    assert "Value: <unprintable>\n" in message_of(TypeError, foo, x, Shy())


def test_C29f_unknown_keywords_are_reported_last(foo, x):
    assert "is missing value for argument 'y'" in message_of(TypeError, foo, x, bogus=1)
    assert "Unknown keyword argument 'bogus'" in message_of(TypeError, foo, x, 1, bogus=1)


def test_C29_a_refused_call_runs_nothing(define, x):
    calls = []
    op = define("op(Tensor x, int n) -> ()", CPU=lambda x, n: calls.append(n))
    for args in [(x,), (x, "a"), (x, 1, 2)]:
        message_of(TypeError, op, *args)
    assert calls == []
    op(x, 1)
    assert calls == [1]


# C29g: conversions ------------------------------------------------------------------------


def tensor_of(number):
    """A tensor without dimensions."""
    return opyard.tensor(number)


class Indexed:
    def __index__(self):
        return 7


class Floating:
    def __float__(self):
        return 2.5


ACCEPTED = [
    ("int", 3, 3),
    ("int", True, 1),
    ("int", -(2**63), -(2**63)),
    ("int", Indexed(), 7),
    ("int", lambda: tensor_of(5), 5),
    ("float", 3, 3.0),
    ("float", 2.5, 2.5),
    ("float", True, 1.0),
    ("float", float("inf"), float("inf")),
    ("float", Floating(), 2.5),
    ("float", lambda: opyard.tensor(2.5, dtype=opyard.float16), 2.5),
    ("bool", False, False),
    ("str", "grüße\0", "grüße\0"),
    ("str", "", ""),
    ("Scalar", True, True),
    ("Scalar", 3, 3),
    ("Scalar", 2.5, 2.5),
    ("Scalar", lambda: tensor_of(4), 4),
    ("Scalar", lambda: opyard.tensor(2.5, dtype=opyard.bfloat16), 2.5),
    ("Device", lambda: opyard.device("cpu"), lambda: opyard.device("cpu")),
    ("Device", "cpu", lambda: opyard.device("cpu")),
    ("ScalarType", lambda: opyard.float32, lambda: opyard.float32),
    ("ScalarType?", lambda: opyard.int64, lambda: opyard.int64),
    ("int?", None, None),
    ("int?", 3, 3),
    ("float?", 1, 1.0),
    ("str?", None, None),
    ("int[]", [1, 2], [1, 2]),
    ("int[]", (1, 2), [1, 2]),
    ("int[]", range(3), [0, 1, 2]),
    ("int[]", array.array("q", [4, 5]), [4, 5]),
    ("int[]", [], []),
    ("int[]", lambda: [1, tensor_of(2)], [1, 2]),
    ("int[2]", 3, [3, 3]),
    ("int[2]", [3, 4], [3, 4]),
    ("int[3]?", None, None),
    ("int[3]?", 1, [1, 1, 1]),
    ("float[]", [1, 2.5, True], [1.0, 2.5, 1.0]),
    ("bool[]", [True, False], [True, False]),
    ("str[]", ["a", "b"], ["a", "b"]),
    ("int[][]", [[1], [2, 3]], [[1], [2, 3]]),
    ("(int, str)", (1, "a"), (1, "a")),
    ("Any", None, None),
    ("Any", 3, 3),
    ("Any", "text", "text"),
    ("Any", [1, (2.5, "a")], [1, (2.5, "a")]),
]


def value_of(given):
    return given() if callable(given) and not isinstance(given, (Indexed, Floating)) else given


@pytest.mark.parametrize(("type_", "given", "expected"), ACCEPTED, ids=lambda v: repr(v)[:20])
def test_C29g_accepted(define, type_, given, expected):
    seen = []

    def kernel(a):
        seen.append(a)
        return a

    op = define(f"op({type_} a) -> {type_}", CompositeExplicitAutograd=kernel)
    expected = value_of(expected)
    result = op(value_of(given))
    assert (type(seen[0]), seen[0]) == (type(expected), expected)
    assert (type(result), result) == (type(expected), expected)


REFUSED = [
    ("int", 1.0),
    ("int", "1"),
    ("int", None),
    ("int", lambda: tensor_of(1.5)),
    ("int", lambda: opyard.tensor([1, 2])),
    ("float", "1.0"),
    ("float", None),
    ("bool", 1),
    ("bool", None),
    ("str", b"bytes"),
    ("str", None),
    ("Scalar", "1"),
    ("Scalar", None),
    ("Device", 0),
    ("ScalarType", "float33"),
    ("Tensor", 1.0),
    ("Tensor", [1.0]),
    ("Tensor[]", lambda: opyard.tensor([1.0])),
    ("int?", "a"),
    ("int[]", 3),
    ("int[]", [1, None]),
    ("int[]", "12"),
    ("int[]", {1: 2}),
    ("int[2]", "a"),
    ("(int, str)", (1, 2)),
    ("(int, str)", (1,)),
]


@pytest.mark.parametrize(("type_", "given"), REFUSED, ids=lambda v: repr(v)[:20])
def test_C29g_refused(define, type_, given):
    op = define(f"op({type_} a) -> ()", CompositeExplicitAutograd=lambda a: None)
    text = message_of(TypeError, op, value_of(given))
    assert f"Expected a value of type '{type_}' for argument 'a'" in text


def test_C29g_none_is_the_undefined_tensor(define):
    op = define("op(Tensor x) -> Tensor?", CompositeExplicitAutograd=lambda x: x)
    assert op(None) is None
    two = define("two(Tensor x) -> (Tensor?, Tensor?)", CompositeExplicitAutograd=lambda x: (x, x))
    assert two(None) == (None, None)


def test_the_name_of_a_dtype_as_a_text_is_refused_with_the_dtype(define):
    op = define("op(ScalarType a) -> ()", CompositeExplicitAutograd=lambda a: None)
    text = message_of(TypeError, op, "float32")
    assert text.endswith("::op: argument 'a': 'float32' is a text; write opyard.float32")


INT_RANGE = "-9223372036854775808 to 9223372036854775807"


class Huge:
    """What has __index__ is an int, also a huge one."""

    def __index__(self):
        return -(2**70)

    def __repr__(self):
        return "Huge()"


class HugeInt(int):
    pass


PAST = [  # with the place of the number in the argument
    ("int", 2**63, ""),
    ("int", -(2**63) - 1, ""),
    ("int", Huge(), ""),
    ("int", HugeInt(10**30), ""),
    ("int?", 2**70, ""),
    ("int[]", [1, 2**70], "[1]"),
    ("int[]", (1, -(2**70)), "[1]"),
    ("int[]", [Huge()], "[0]"),
    ("int[2]", 2**70, ""),
    ("int[][]", [[1], [2, 2**70]], "[1][1]"),
    ("(int, str)", (2**70, "a"), "[0]"),
    ("Dict(str, int)", {"a": 1, "b": 2**70}, ".values()[1]"),
    ("Dict(int, str)", {2**70: "a"}, ".keys()[0]"),
    ("Scalar", 2**63, ""),
    ("Scalar", Huge(), ""),
    ("ScalarType", 2**70, ""),
]


@pytest.mark.parametrize(("type_", "given", "place"), PAST, ids=lambda v: repr(v)[:30])
def test_C29g_an_int_past_64_bits_is_refused(define, type_, given, place):
    op = define(f"op(str s, {type_} n) -> ()", CompositeExplicitAutograd=lambda s, n: None)
    for call in (op, op.default):
        assert message_of(TypeError, call, "s", given) == (
            f"{op.qualified_name}() Expected a value of type '{type_}' for argument 'n' "
            f"but instead found type '{type(given).__name__}' with a number outside of "
            f"{INT_RANGE}.\n"
            "Position: 1\n"
            f"Value: {given!r}\n"
            f"Declaration: {op.default.declaration}"
            + (f"\nCast error details: n{place} is the number outside" if place else "")
        )


def test_C29g_an_int_past_the_largest_float_is_refused(define):
    op = define("op(float a) -> float", CompositeExplicitAutograd=lambda a: a)
    assert op(2**70) == 2.0**70
    assert message_of(TypeError, op, 10**400) == (
        f"{op.qualified_name}() Expected a value of type 'float' for argument 'a' but instead "
        "found type 'int' with a number outside of about -1.8e308 to 1.8e308.\n"
        "Position: 0\n"
        f"Value: {10**400}\n"
        f"Declaration: {op.default.declaration}"
    )


def test_C29g_an_int_past_64_bits_is_itself_where_anything_is_taken(define):
    op = define("op(Any a) -> Any", CompositeExplicitAutograd=lambda a: a)
    assert op(2**70) == 2**70
    assert op([1, -(2**70)]) == [1, -(2**70)]


def test_C29h_an_int_past_64_bits_passes_an_overload_over(library):
    library.define("f.i(int a) -> str")
    library.define("f.d(float a) -> str")
    library.impl("f.i", lambda a: "int")
    library.impl("f.d", lambda a: "float")
    packet = getattr(opyard.ops, library.ns).f
    assert (packet(1), packet(2**70)) == ("int", "float")


def test_C29g_an_overflow_that_a_conversion_raises_comes_out(define):
    class Broken:
        def __index__(self):
            raise OverflowError("mine")

        __float__ = __index__

    for type_ in ("int", "float"):
        op = define(f"{type_}(%s a) -> ()" % type_, CompositeExplicitAutograd=lambda a: None)
        assert message_of(OverflowError, op, Broken()) == "mine"


class Fickle:
    """An __index__ that gives another answer each time."""

    def __init__(self, *answers):
        self.answers = iter(answers)

    def __index__(self):
        return next(self.answers)

    def __repr__(self):
        return "Fickle()"


def fickle_text(op, overload):
    return (
        f"{op.qualified_name}() Expected a value of type 'int' for argument 'n' but instead found "
        f"type 'Fickle' with a number outside of {INT_RANGE}.\n"
        "Position: 0\n"
        "Value: Fickle()\n"
        f"Declaration: {getattr(op, overload).declaration}"
    )


def test_a_failure_is_found_once(define, library):
    """Asked a second time, the number would fit."""
    op = define("op(int n) -> int", CompositeExplicitAutograd=lambda n: n)
    for call in (op, op.default):
        assert message_of(TypeError, call, Fickle(2**70, 3)) == fickle_text(op, "default")
    assert op(Fickle(3)) == 3


def test_a_failure_of_each_overload_is_found_once(library):
    library.define("f.a(int n) -> int")
    library.define("f.b(int n, *, int m=0) -> int")
    op = getattr(opyard.ops, library.ns).f
    assert message_of(TypeError, op, Fickle(2**70, 2**71, 3, 4)) == (
        f"{library.ns}::f() Expected a value of type 'int' for argument 'n' but instead found type "
        f"'Fickle' with a number outside of {INT_RANGE}.\nValue: Fickle()\n"
        f"Declaration: {op.a.declaration}\n"
        "Overloaded operator invoked from Python failed to match any schema; the other is b."
    )


def test_C29g_what_a_conversion_raises_comes_out(define):
    class Broken:
        def __index__(self):
            raise KeyError("mine")

    op = define("op(int n) -> int", CompositeExplicitAutograd=lambda n: n)
    with pytest.raises(KeyError, match="mine"):
        op(Broken())


def test_C29g_tensors_and_lists_of_them_arrive_as_the_same_objects(define, x):
    y = opyard.tensor([1])
    op = define("op(Tensor[] xs, Tensor? y, Tensor?[] zs) -> ()", CPU=lambda *a: seen.append(a))
    seen = []
    op([x, y], None, [None, x])
    (xs, no_tensor, zs) = seen[0]
    assert xs[0] is x and xs[1] is y
    assert no_tensor is None
    assert zs[0] is None and zs[1] is x


def test_a_list_that_contains_itself_is_refused(define):
    op = define("op(Any a) -> ()", CompositeExplicitAutograd=lambda a: None)
    loop = []
    loop.append(loop)
    with pytest.raises(RecursionError):
        op(loop)


def test_an_object_of_any_type_comes_back_as_itself(define):
    class Thing:
        pass

    op = define("op(Any a) -> Any", CompositeExplicitAutograd=lambda a: a)
    thing = Thing()
    before = sys.getrefcount(thing)
    assert op(thing) is thing
    assert sys.getrefcount(thing) == before


# C29h, C29i -------------------------------------------------------------------------------


@pytest.fixture
def overloaded(library):
    """The first overload that takes the arguments as they are is called, in order of definition."""
    for schema, answer in [
        ("f.b(float a) -> str", "b"),
        ("f.a(int a) -> str", "a"),
        ("f(str a) -> str", "default"),
        ("f.t(Tensor a, *, int n=0) -> str", "t"),
    ]:
        library.define(schema)
        name = schema.partition("(")[0]
        library.impl(name, lambda *a, answer=answer, **k: answer, "CompositeExplicitAutograd")
    return getattr(opyard.ops, library.ns).f


@pytest.mark.parametrize(
    ("args", "kwargs", "answer"),
    [((1.5,), {}, "b"), ((1,), {}, "a"), (("s",), {}, "default"), ((), {"a": "s"}, "default")],
)
def test_C29h_the_first_overload_that_fits_is_called(overloaded, args, kwargs, answer):
    assert overloaded(*args, **kwargs) == answer
    assert overloaded._resolve(*args, **kwargs).overload_name == answer


def test_C29h_keywords_choose_as_well(overloaded, x):
    assert overloaded(x, n=3) == "t"


def test_C29h_the_types_that_all_candidates_would_have_taken_are_named(overloaded, ns):
    assert message_of(TypeError, overloaded, {}) == (
        f"{ns}::f() Expected a value of type 'float' or 'int' or 'str' or 'Tensor' for argument "
        "'a' but instead found type 'dict'.\nValue: {}\n"
        f"Declaration: {overloaded.b.declaration}\n"
        "Overloaded operator invoked from Python failed to match any schema; the others are a, "
        "default and t."
    )


def test_C29h_an_operator_with_one_overload_says_its_own_reason(foo):
    assert message_of(TypeError, foo).startswith(f"{foo.qualified_name}() is missing value")


def test_C29h_converting_may_change_the_overloads_that_are_tried(library):
    """A conversion that defines an operator makes the packet look again in mid-choice."""
    library.define("f.a(str a) -> str")
    library.define("f.b(int a) -> str")
    library.define("f.c(float a) -> str")
    library.impl("f.c", lambda a: "c", "CompositeExplicitAutograd")
    packet = getattr(opyard.ops, library.ns).f

    class Meddler:
        def __float__(self):
            return 1.0

        def __index__(self):
            for n in range(50):
                library.define(f"f.n{n}(Device d, *, int n{n}) -> str")
            packet.overloads()
            raise TypeError("no index")

    with pytest.raises(TypeError, match="no index"):
        packet(Meddler())
    assert len(packet.overloads()) == 53
    assert packet(1.5) == "c"


@pytest.mark.parametrize("name", ["self", "from", "op", "args", "kwargs", "keyset", "name"])
def test_C29i_arguments_of_any_name_are_passable_by_keyword(define, x, name):
    seen = []
    op = define(
        f"op(Tensor {name}, *, Tensor other) -> ()", CPU=lambda a, other: seen.append((a, other))
    )
    op(**{name: x}, other=x)
    op.default(**{name: x}, other=x)
    assert all(a is x and other is x for a, other in seen)
    assert len(seen) == 2


def test_names_that_are_not_interned_are_found(define):
    op = define(
        "op(int first, *, int second) -> int",
        CompositeExplicitAutograd=lambda first, *, second: first * 10 + second,
    )
    name = "".join(["sec", "ond"])
    assert name is not sys.intern("second")
    assert op(1, **{name: 2}) == 12


def test_D6_results_are_none_one_or_a_tuple(define):
    none = define("none() -> ()", CompositeExplicitAutograd=lambda: None)
    one = define("one() -> int", CompositeExplicitAutograd=lambda: 1)
    two = define("two() -> (int, str)", CompositeExplicitAutograd=lambda: (1, "a"))
    assert none() is None
    assert one() == 1
    assert two() == (1, "a")


def test_more_arguments_than_the_c_stack_has_room_for(define):
    names = [f"a{n}" for n in range(40)]
    op = define(
        f"op({', '.join('int ' + name for name in names)}) -> int[]",
        CompositeExplicitAutograd=lambda *a: list(a),
    )
    assert op(*range(40)) == [*range(40)]
    assert op(*range(20), **{name: n for n, name in enumerate(names[20:], 20)}) == [*range(40)]


def test_operators_with_variadic_schemas_say_that_they_cannot_be_called(library, ns):
    library.define("v(...) -> int")
    library.define("w.a(...) -> int")
    library.define("w.b(int n) -> int")
    library.impl("w.b", lambda n: n)
    namespace = getattr(opyard.ops, ns)
    assert message_of(NotImplementedError, namespace.v, 1) == (
        f"{ns}::v(...) -> int has a variadic schema, which this version cannot call from Python"
    )
    assert namespace.w(1) == 1
    assert "variadic schema" in message_of(TypeError, namespace.w, "a")
