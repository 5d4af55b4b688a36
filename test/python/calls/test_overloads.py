"""test_overloads.py: overloads that take the same call, and calls that none takes.
Suspect overlap.cpp, library.cpp, packet.cpp, binding.cpp, convert.cpp."""

import sys
import warnings

import pytest

import opyard
from opyard.dispatch import check_invariants, dump
from opyard.library import Library

SAME = "Two overloads accept the same call, which goes to the one that was defined first"


def ambiguity(library, first, second):
    """The arguments of the call that both take, out of the warning; None if there was none."""
    library.define("f.a" + first)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        library.define("f.b" + second)
    if not caught:
        return None
    (warning,) = caught
    assert warning.category is UserWarning
    lines = str(warning.message).splitlines()
    assert lines[0] == SAME
    call = lines[1].removeprefix(f"  call: {library.ns}::f")
    assert call != lines[1]
    return call


@pytest.mark.parametrize(
    ("first", "second", "call"),
    [
        ("(int x) -> ()", "(int y) -> ()", "(int)"),
        ("(Scalar x) -> ()", "(int x) -> ()", "(int)"),
        ("(Any x) -> ()", "(Tensor x) -> ()", "(Tensor)"),
        ("(int? x) -> ()", "(Tensor? x) -> ()", "(None)"),
        ("(int[] x) -> ()", "(Tensor[] x) -> ()", "([])"),
        ("(int[2] x) -> ()", "(int x) -> ()", "(int)"),
        ("(int[] x) -> ()", "((int, int) x) -> ()", "((int, int))"),
        ("((int, str) x) -> ()", "((int, str) x) -> ()", "((int, str))"),
        ("(Dict(str, int) x) -> ()", "(Dict(int, str) x) -> ()", "({})"),
        ("(Union(int, str) x) -> ()", "(Union(str, Tensor) x) -> ()", "(str)"),
        ("(Tensor x, int dim=0) -> ()", "(Tensor x) -> ()", "(Tensor)"),
        ("(Tensor x) -> ()", "(Tensor y, int dim=0) -> ()", "(Tensor)"),
        ("(Tensor x, int n=1) -> ()", "(Tensor x, str s='') -> ()".replace("'", '"'), "(Tensor)"),
        ("(Tensor x, int n=1) -> ()", "(Tensor x, int n) -> ()", "(Tensor, int)"),
        ("(Tensor x, *, int b=2, int a) -> ()", "(Tensor x, *, int a) -> ()", "(Tensor, a=int)"),
        (
            "(Tensor x, *, Tensor? out=None) -> ()",
            "(Tensor x, *, Tensor out) -> ()",
            "(Tensor, out=Tensor)",
        ),
        ("(int a, str b) -> ()", "(str b, int a) -> ()", "(a=int, b=str)"),
        ("(int x=1) -> ()", "() -> ()", "()"),
    ],
)
def test_X10_overloads_that_accept_the_same_call(library, first, second, call):
    assert ambiguity(library, first, second) == call


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("(int x) -> ()", "(str x) -> ()"),
        ("(int x) -> ()", "(float x) -> ()"),
        ("(int x) -> ()", "(Scalar x) -> ()"),
        ("(int x) -> ()", "(int? x) -> ()"),
        ("(int x) -> ()", "(int[2] x) -> ()"),
        ("(int[] x) -> ()", "(Scalar[] x) -> ()"),
        ("(int x) -> ()", "(Any x) -> ()"),
        ("(Union(int, str) x) -> ()", "(Union(int, str, Tensor) x) -> ()"),
        ("(Tensor x) -> ()", "(Tensor x, int dim) -> ()"),
        ("(Tensor x) -> ()", "(Tensor x, int dim=0) -> ()"),
        ("(Tensor x, *, int a) -> ()", "(Tensor x, *, int b=2, int a) -> ()"),
        ("() -> ()", "(int x=1) -> ()"),
        ("(Tensor x) -> ()", "(Tensor x, *, Tensor(a!) out) -> Tensor(a!)"),
        ("(Tensor x, Tensor y) -> ()", "(Tensor x, Scalar y) -> ()"),
        ("(Tensor x, int a) -> ()", "(Tensor x, *, int a, int b) -> ()"),
        ("(int a, str b) -> ()", "(str b, int c) -> ()"),
        ("(...) -> ()", "(int x) -> ()"),
        ("((int, str) x) -> ()", "((int, int) x) -> ()"),
        ("(Device x) -> ()", "(str x) -> ()"),
    ],
)
def test_X10_overloads_that_do_not(library, first, second):
    assert ambiguity(library, first, second) is None


def test_X10_the_call_really_goes_to_the_first(library, ns):
    assert ambiguity(library, "(Scalar x) -> str", "(int x) -> str") == "(int)"
    library.impl("f.a", lambda x: "a", "CompositeExplicitAutograd")
    library.impl("f.b", lambda x: "b", "CompositeExplicitAutograd")
    assert getattr(opyard.ops, ns).f(3) == "a"
    assert getattr(opyard.ops, ns).f.b(3) == "b"


def test_X10_the_warning_says_which_call_and_where_it_goes(library, ns):
    library.define("f(Scalar x) -> ()")
    with pytest.warns(UserWarning) as caught:
        library.define("f.int(int n, *, float alpha=1.0) -> ()")
    place = f"{__file__}:{sys._getframe().f_lineno - 1}"
    assert [str(warning.message) for warning in caught] == [
        f"{SAME}\n"
        f"  call: {ns}::f(int)\n"
        f"  goes to: {ns}::f(Scalar x) -> ()\n"
        f"  and not to: {ns}::f.int(int n, *, float alpha=1.) -> (), registered at {place}"
    ]


def test_X10_the_order_of_definition_decides_not_that_of_names(library):
    library.define("f.z(Scalar x) -> ()")
    with pytest.warns(UserWarning, match=r"f\.z\(Scalar x\)(.|\n)*and not to: \S*f\.a\(int x\)"):
        library.define("f.a(int x) -> ()")


def test_X10_a_warning_that_is_an_error_leaves_nothing_behind(library, ns):
    library.define("f.a(int x) -> ()")
    told = []
    with opyard.dispatch.on_registration(None, lambda op: told.append(op.name())):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            with pytest.raises(UserWarning, match=SAME):
                library.define("f.b(int x) -> ()")
    assert told == [f"{ns}::f.b"]
    assert dump(f"{ns}::f.b") == ""
    assert getattr(opyard.ops, ns).f.overloads() == ["a"]
    check_invariants()


def test_X10_nobody_is_warned_once_the_first_is_gone(library, ns):
    first = Library(ns, "FRAGMENT")
    first.define("f.a(int x) -> ()")
    first._destroy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library.define("f.b(int x) -> ()")


def test_X10_deep_types_take_no_longer(library):
    deep = "int" + "[2]?" * 60
    assert ambiguity(library, f"({deep} x) -> ()", f"({deep} x) -> ()") is not None


def test_X10_the_operators_of_aten_are_not_ambiguous(run_program):
    done = run_program(
        "import opyard, warnings\nwarnings.simplefilter('error')\nopyard.ops.aten.add"
    )
    assert (done.returncode, done.stderr) == (0, "")


# Arguments as they are, before converted ones ------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "given", "goes_to"),
    [
        ("float", "int", 1, "b"),
        ("float", "int", 1.5, "a"),
        ("float", "int", True, "a"),  # both convert it
        ("float", "bool", True, "b"),
        ("int", "bool", True, "b"),
        ("complex", "float", 1.5, "b"),
        ("complex", "int", 1.5, "a"),
        ("Scalar", "float", 1, "a"),
        ("float", "Scalar", 1, "b"),
        ("float?", "int?", 1, "b"),
        ("float?", "int?", None, "a"),
        ("float[]", "int[]", [1, 2], "b"),
        ("float[]", "int[]", (1, 2.5), "a"),
        ("float[2]", "int[2]", 1, "b"),
        ("SymFloat", "SymInt", 1, "b"),
        ("Device", "str", "cpu", "a"),  # a text that names a device is one
        ("int", "Tensor", opyard.tensor(3), "b"),
        ("Scalar", "Tensor", opyard.tensor(3), "b"),
        ("Scalar", "str", opyard.tensor(3), "a"),
        ("float[]", "Tensor[]", [opyard.tensor(1.0)], "b"),
    ],
)
def test_X10_F60_an_overload_that_takes_the_arguments_as_they_are_goes_first(
    library, ns, first, second, given, goes_to
):
    for overload, type_ in (("a", first), ("b", second)):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # for those that are ambiguous besides
            optional = type_.removesuffix("?") + "?"
            library.define(f"f.{overload}({type_} x, *, {optional} y=None) -> str")
        library.impl(
            f"f.{overload}", lambda x, *, y=None, o=overload: o, "CompositeExplicitAutograd"
        )
    op = getattr(opyard.ops, ns).f
    assert op(given) == goes_to
    assert op(x=given) == goes_to
    assert op._resolve(given).name() == f"{ns}::f.{goes_to}"
    assert op(given, y=given) == goes_to


@pytest.mark.filterwarnings("ignore:Two overloads accept the same call")
def test_X10_one_argument_that_needs_a_conversion_is_enough(library, ns):
    library.define("f.a(float x, Scalar y, *, float z=1.0) -> str")
    library.define("f.b(Scalar x, float y, *, Scalar z=1) -> str")
    for overload in "ab":
        library.impl(
            f"f.{overload}", lambda *args, o=overload, **names: o, "CompositeExplicitAutograd"
        )
    op = getattr(opyard.ops, ns).f
    assert op(1.0, 1) == "a"
    assert op(1, 1.0) == "b"
    assert op(1.0, 1.0) == "a"
    assert op(1.0, 1.0, z=2) == "b"
    assert op(1, 1) == "a"  # both convert
    assert op.b(1, 1) == "b"


# A number for a Tensor leads past an overload without the stack of values, and to the same one.
@pytest.mark.parametrize(
    ("types", "given", "goes_to"),
    [
        (("Tensor", "Scalar"), 1, 1),
        (("Tensor", "Scalar"), True, 1),
        (("Tensor", "Scalar"), 1j, 1),
        (("Tensor", "Tensor", "float"), 1.5, 2),
        (("Tensor", "float", "int"), 1, 2),  # as it is goes before converted
        (("Tensor", "float"), 1, 1),
        (("Tensor", "bool", "int"), 1, 2),
        (("Tensor", "str", "Scalar"), 1, 2),
        (("Tensor?", "int"), 1, 1),
        (("Tensor", "Scalar"), opyard.tensor(3), 0),
    ],
)
@pytest.mark.filterwarnings("ignore:Two overloads accept the same call")
def test_X10_a_number_leads_past_a_tensor(library, ns, types, given, goes_to):
    for position, type_ in enumerate(types):
        library.define(f"f.o{position}(Tensor x, {type_} y, int times=1) -> str")
        library.impl(
            f"f.o{position}",
            lambda *args, o=position: f"{o}/{len(args)}",
            "CompositeExplicitAutograd",
        )
    op = getattr(opyard.ops, ns).f
    x = opyard.tensor([1.0])
    assert op(x, given) == op(x, y=given) == f"{goes_to}/2"
    assert op(x, given, 2) == f"{goes_to}/3"
    with pytest.raises(TypeError, match="failed to match any schema"):
        op(1, given)


def test_X10_F60_what_no_overload_takes_is_refused_for_all(library, ns):
    library.define("f.a(float x) -> str")
    library.define("f.b(str x) -> str")
    with pytest.raises(TypeError) as caught:
        getattr(opyard.ops, ns).f(opyard.tensor([1.0, 2.0]))
    assert str(caught.value) == (
        f"{ns}::f() Expected a value of type 'float' or 'str' for argument 'x' but instead found "
        f"type 'opyard.Tensor'.\nValue: tensor([1., 2.])\n"
        f"Declaration: {ns}::f.a(float x) -> str\n"
        "Overloaded operator invoked from Python failed to match any schema; the other is b."
    )


def test_H11_graphs_choose_by_the_same_rule(library, ns):
    jit = opyard.jit
    library.define("f.a(float x) -> str")
    library.define("f.b(int x) -> str")
    library.define("f.c(Scalar x) -> str")
    for overload in "abc":
        library.impl(f"f.{overload}", lambda x, o=overload: o, "CompositeExplicitAutograd")
    for type_, given, goes_to in (("int", 1, "b"), ("float", 1.5, "a"), ("Scalar", 1, "c")):
        text = f"graph(%x : {type_}):\n  %y : str = {ns}::f(%x)\n  return (%y)\n"
        assert jit.compile(jit.parse_ir(text))(given) == goes_to
    assert getattr(opyard.ops, ns).f(1) == "b"


# Calls that none takes ----------------------------------------------------------------------


class Unshowable:
    def __repr__(self):
        raise ValueError("no")


@pytest.mark.parametrize(
    ("type_", "given", "details"),
    [
        ("int[]", [1, "a"], "[1] is of type 'str', where 'int' is expected"),
        ("int[][]", [[], [1, 2, None]], "[1][2] is of type 'NoneType', where 'int' is expected"),
        ("int[][]", [[], 5], "[1] is of type 'int', where 'int[]' is expected"),
        ("(int, str)[]", [(1, "a"), (1, 2)], "[1][1] is of type 'int', where 'str' is expected"),
        ("(int, str)[]", [(1,)], "[0] is of type 'tuple', where '(int, str)' is expected"),
        ("Tensor?[]", [None, 1], "[1] is of type 'int', where 'Tensor?' is expected"),
        ("int[]?", ["a"], "[0] is of type 'str', where 'int' is expected"),
        ("Dict(str, int)", {1: 1}, ".keys()[0] is of type 'int', where 'str' is expected"),
        (
            "Dict(str, int[])",
            {"a": [], "b": [1.5]},
            ".values()[1][0] is of type 'float', where 'int' is expected",
        ),
        ("int[]", [Unshowable()], "[0] is of type 'Unshowable', where 'int' is expected"),
    ],
)
def test_X10_the_element_that_failed_is_named(define, type_, given, details):
    op = define(f"f(int n, {type_} many) -> ()")
    for call in (op, op.default):
        with pytest.raises(TypeError) as caught:
            call(1, given)
        assert "\nPosition: 1\n" in str(caught.value)
        assert str(caught.value).endswith(f"\nCast error details: many{details}")


@pytest.mark.parametrize(
    ("type_", "given"), [("int[]", 5), ("int", "a"), ("Union(int[], str[])", [1, "a"])]
)
def test_X10_where_it_is_the_whole_argument_no_element_is_named(define, type_, given):
    op = define(f"f({type_} many) -> ()")
    with pytest.raises(TypeError, match="Expected a value of type") as caught:
        op(given)
    assert "Cast error details" not in str(caught.value)


def test_X10_a_long_element_is_cut(define):
    type_ = "Union(" + ", ".join(f"{'int' + '[]' * n}" for n in range(1, 60)) + ")"
    op = define(f"f({type_}[] many) -> ()")
    with pytest.raises(TypeError) as caught:
        op(["a"])
    last = str(caught.value).splitlines()[-1]
    assert last.startswith("Cast error details: many[0] is of type 'str', where 'Union(")
    assert len(last) < 230


@pytest.mark.parametrize("pad", ["", "a", "aa", "aaa"])
def test_X10_the_cut_is_between_characters(define, pad):
    wide = type(pad + "\U0001d53c" * 100, (), {})
    op = define("f(int[] many) -> ()")
    with pytest.raises(TypeError) as caught:
        op([wide()])
    assert f"many[0] is of type '{pad}\U0001d53c" in str(caught.value)
    assert "\ufffd" not in str(caught.value)


CANDIDATES = ("(Tensor x, int[] n) -> ()", "(Tensor x, str s, *, int k) -> ()", "(str s) -> ()")


@pytest.mark.parametrize(
    ("args", "kwargs", "closest"),
    [
        ((1.5,), {}, 2),
        (("T", 3), {}, 0),
        (("T", "a"), {}, 1),
        (("T", "a"), {"k": "b"}, 1),
        (("a", 1, 2, 3), {}, 1),
        ((), {"s": "a", "x": 1}, 1),
        (("a",), {"k": 1}, 1),
    ],
)
def test_X10_the_likeliest_candidate_says_why(library, args, kwargs, closest, x):
    for n, schema in enumerate(CANDIDATES):
        library.define(f"f.o{n}{schema}")
    packet = getattr(opyard.ops, library.ns).f
    with pytest.raises(TypeError, match="failed to match any schema") as caught:
        packet(*(x if each == "T" else each for each in args), **kwargs)
    lines = str(caught.value).splitlines()
    assert f"Declaration: {getattr(packet, f'o{closest}').declaration}" in lines
    others = [f"o{n}" for n in range(3) if n != closest]
    assert lines[-1].endswith(f"; the others are {others[0]} and {others[1]}.")


def test_X10_a_conversion_that_raises_is_no_end_of_the_search(library):
    library.define("f.d(Device d) -> str")
    library.define("f.s(str s) -> str")
    library.define("f.t(ScalarType t) -> str")
    library.define("f.i(int i) -> str")
    for name in "dsti":
        library.impl(f"f.{name}", lambda a, name=name: name, "CompositeExplicitAutograd")
    f = getattr(opyard.ops, library.ns).f
    assert (f("cpu"), f("hello"), f(6), f(99)) == ("d", "s", "t", "i")
    with pytest.raises(ValueError, match="'hello' names no device"):
        f.d("hello")
    with pytest.raises(TypeError, match="'hello' names no device"):
        f(d="hello")


@pytest.mark.parametrize(
    ("call", "says", "overload"),
    [
        (lambda x: x.sum(dtype="float32"), "argument 'dtype'", "sum(Tensor self, *"),
        (lambda x: x.to(dtype="float32"), "argument 'dtype'", "to.dtype("),
        (lambda x: x.var(unbiased=5.5), "argument 'unbiased'", "var("),
        (lambda x: x.max(dim="0"), "argument 'dim'", "max.dim("),
        (lambda x: x.div(x, rounding_mode=1), "argument 'rounding_mode'", "div.Tensor_mode("),
        (lambda x: x.add(x, 2), "Give the others by name: alpha.", "add.Tensor("),
        (lambda x: x.div(x, "floor"), "by name: rounding_mode.", "div.Tensor_mode("),
    ],
)
def test_X10_the_fault_that_is_named_is_that_of_the_call(call, says, overload):
    with pytest.raises(TypeError, match="failed to match any schema") as caught:
        call(opyard.tensor([1.0, 2.0]))
    text = str(caught.value)
    assert says in text, text
    assert f"Declaration: aten::{overload}" in text, text
