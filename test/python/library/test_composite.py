"""test_composite.py: operators that are texts of others. Suspect registry/composite.cpp,
text/expression.cpp, text/body.cpp, code/body.cpp."""

import re

import pytest

import opyard
from opyard import autograd, jit, ops, profiler
from opyard.dispatch import explain
from opyard.library import Library, composite

LERP = "lerp_to(Tensor x, Tensor to, float by=0.5) -> Tensor"
BODY = "let way = to - x;\nx + way * by"


@pytest.fixture
def x():
    return opyard.tensor([1.0, 2.0, 4.0], dtype=opyard.float64)


def op_of(ns, name):
    return getattr(getattr(ops, ns), name)


def test_a_body_is_what_its_operator_does(library, ns, x):
    assert library.composite(LERP, BODY, tags="pointwise", doc="Goes a part of the way.") == (
        f"{ns}::lerp_to"
    )
    f = op_of(ns, "lerp_to")
    assert f(x, x + 1).tolist() == [1.5, 2.5, 4.5]
    assert f(x, to=x + 1, by=2.0).tolist() == [3.0, 4.0, 6.0]
    assert library.operators == [f"{ns}::lerp_to"]
    assert library.kernels == [(f"{ns}::lerp_to", "CompositeImplicitAutograd")]
    assert "Goes a part of the way." in f.default.__doc__


def test_meta_and_gradients_see_the_calls_inside_and_a_graph_calls_it(library, ns, x):
    library.composite(LERP, BODY)
    f = op_of(ns, "lerp_to")
    on_meta = opyard.ops.aten.empty([3, 1], device="meta")
    assert f(on_meta, on_meta).shape == (3, 1)
    x.requires_grad_()
    assert autograd.gradcheck(lambda x: f(x, x * x, by=0.25), [x])
    assert autograd.gradgradcheck(lambda x: f(x, x * x, by=0.25), [x])
    graph = jit.trace(lambda x, to: f(x, to), (x.detach(), x.detach()))
    assert f"{ns}::lerp_to" in str(graph)
    assert graph(x.detach(), x.detach() + 1).tolist() == [1.5, 2.5, 4.5]


def test_let_if_require_lists_and_keywords(library, ns, x):
    library.composite(
        "f(Tensor x, int? dim=None, bool flip=False) -> (Tensor, Tensor)",
        """
        require x.dim() == 1, "x has {d} dimensions of {s}"; # names that come later are none
        x, x
        """.replace("{d} dimensions of {s}", "dimension {dim}, and is flipped: {flip}"),
    )
    library.composite(
        "g(Tensor x, int? dim=None, bool flip=False) -> Tensor",
        """
        let n = if dim == None { x.sum() } else { x.sum([dim], keepdim=True) };
        let lowest, at = x.min(0);
        if flip { -n } else if x.dim() > 1 { n + 100 } else { n + lowest }
        """,
    )
    f, g = op_of(ns, "f"), op_of(ns, "g")
    assert [t.tolist() for t in f(x)] == [[1.0, 2.0, 4.0]] * 2
    assert g(x).item() == 8.0
    assert g(x, 0, True).tolist() == [-7.0]
    assert g(x.reshape([1, 3]), 1).tolist() == [[107.0]]
    with pytest.raises(ValueError) as error:
        f(x.reshape([3, 1]), 7)
    assert str(error.value).startswith(f"{ns}::f: x has dimension 7, and is flipped: False")


@pytest.mark.parametrize(
    ("body", "place", "message"),
    [
        ("let y = x;\ny +", "2:4", "expected a value"),
        ("x +\n  nothing(x)", "2:3", "nothing"),
        ("let y = x * 2;\n\n y + z", "3:6", "there is no input 'z'"),
        ("let y = 2;\nx, y", "2:1", "this gives 2 values"),
        ("let y = 2;\n y", "2:2", "result 0 is int"),
        ("let y = x;\ny.add_(x);", "2:10", "expected the end"),
        ("x.mul_(2)", "1:1", "writes to argument 'x'"),
        ("if n > 1 {\n x } else { n }", "1:1", "one way of this if gives Tensor"),
        ('require n, "no"; x', "1:9", "a condition is a bool, and this is int"),
        ("let let = x; x", "1:5", "is a word, and no name"),
        ("", "1:1", "expected a value"),
        ("(" * 300 + "x" + ")" * 300, "1:", "nested too deeply"),
        ("if True {" * 300 + "x" + "} else {x}" * 300, "1:", "nested too deeply"),
        ("x" + " + x" * 20_000, "", "fewer"),
        ("x" + " " * 70_000, "", "65536"),
    ],
)  # fmt: skip
def test_a_wrong_body_is_refused_with_its_place_and_nothing_is_registered(
    library, ns, body, place, message
):
    with pytest.raises(ValueError) as error:
        library.composite("f(Tensor x, int n=1) -> Tensor", body)
    text = str(error.value)
    assert f"the body of {ns}::f:{place}" in text or not place
    assert message in text or message == "fewer", text
    assert library.operators == [] and library.kernels == []
    assert not hasattr(getattr(ops, ns), "f")


def test_a_cycle_is_refused_with_its_way(library, ns):
    library.composite("a(Tensor x) -> Tensor", "x + 1")
    library.composite("b(Tensor x) -> Tensor", "a(x) * 2")
    library.composite("c(Tensor x) -> Tensor", "b(x) * 2")
    with Library(ns, "FRAGMENT") as other:
        with pytest.raises((ValueError, RuntimeError)):
            other.composite("d(Tensor x) -> Tensor", "d(x)")
        other.define("e(Tensor x) -> Tensor")
        other.composite("f(Tensor x) -> Tensor", "e(x)")
        assert op_of(ns, "c")(opyard.tensor([1.0])).tolist() == [8.0]
    with pytest.raises(ValueError, match=re.escape(f"{ns}::a -> {ns}::c -> {ns}::b -> {ns}::a")):
        library._library.composite("a(Tensor x) -> Tensor", f"{ns}.c(x)", (), "here:1", "")


def test_bodies_in_bodies_have_a_limit(library, ns):
    library.composite("f0(Tensor x) -> Tensor", "x + 1")
    with pytest.raises(ValueError, match="nested more than 128 deep"):
        for i in range(1, 200):
            library.composite(f"f{i}(Tensor x) -> Tensor", f"f{i - 1}(x)")
    assert 100 < i < 140
    assert op_of(ns, f"f{i - 1}")(opyard.tensor([1.0])).tolist() == [2.0]


def test_it_ends_with_its_library(ns, x):
    with Library(ns, "FRAGMENT") as library:
        library.composite("f(Tensor x) -> Tensor", "x * 2")
        f = op_of(ns, "f").default
        assert f(x).tolist() == [2.0, 4.0, 8.0]
    assert not hasattr(getattr(ops, ns), "f")
    with pytest.raises(RuntimeError):
        f(x)


def test_symbols_are_operators_of_aten(library, ns, x):
    for name in ("add", "sub", "mul", "neg", "eq", "matmul"):
        library.define(f"{name}(int a, int b) -> int")
    library.composite("f(Tensor x) -> Tensor", "-(x + x) * 2 - x")
    assert op_of(ns, "f")(x).tolist() == [-5.0, -10.0, -20.0]


def test_an_error_inside_names_the_operator_that_was_called(library, ns, x):
    library.composite("inner(Tensor x, Tensor y) -> Tensor", "x * y")
    library.composite("outer(Tensor x, Tensor y) -> Tensor", "let z = x + 1;\ninner(z, y)")
    with pytest.raises(ValueError) as error:
        op_of(ns, "outer")(x, opyard.tensor([1.0, 2.0], dtype=opyard.float64))
    first, *notes = str(error.value).split("\n")
    assert first.startswith(f"{ns}::outer: {ns}::inner: ")
    assert any(f"the body of {ns}::inner:1:1" in note for note in notes)
    assert any(f"the body of {ns}::outer:2:1" in note for note in notes)


def test_an_exception_of_python_comes_out_as_it_is(library, ns, x):
    class Mine(Exception):
        pass

    def kernel(x):
        raise Mine("of a kernel in Python")

    library.define("inner(Tensor x) -> Tensor")
    library.impl("inner", kernel, "CPU")
    library.composite("outer(Tensor x) -> Tensor", "inner(x) + 1")
    with pytest.raises(Mine, match="of a kernel in Python"):
        op_of(ns, "outer")(x)


def test_explain_shows_the_body(library, ns, x):
    library.composite(LERP, BODY)
    told = explain(op_of(ns, "lerp_to"), x, x)
    assert told.body == BODY
    assert "  its body:\n    let way = to - x;\n    x + way * by\n" in str(told)
    assert explain(ops.aten.add.Tensor, x, x).body == ""


def test_a_profile_has_the_calls_inside_below_it(library, ns, x):
    library.composite(LERP, BODY)
    f = op_of(ns, "lerp_to")
    with profiler.profile() as prof:
        f(x, x)
    parents = {}
    for event in prof.events():
        above = event.parent
        while above is not None and event.name.startswith("aten::"):
            parents.setdefault(event.name, []).append(above.name)
            above = above.parent
    assert f"{ns}::lerp_to" in parents["aten::sub.Tensor"]
    assert f"{ns}::lerp_to" in parents["aten::mul.Scalar"]


def test_without_a_library_it_stays(ns, x):
    assert composite(f"{ns}::stays(Tensor x) -> Tensor", "x - 1") == f"{ns}::stays"
    assert op_of(ns, "stays")(x).tolist() == [0.0, 1.0, 3.0]
    with pytest.raises(ValueError, match="no namespace"):
        composite("f(Tensor x) -> Tensor", "x")
    with Library(ns, "FRAGMENT") as library, pytest.raises(ValueError, match="another namespace"):
        composite("other_one::f(Tensor x) -> Tensor", "x", lib=library)


@pytest.mark.parametrize(("schema", "body"), [(1, "x"), ("f(Tensor x) -> Tensor", lambda x: x)])
def test_what_is_no_text_is_refused(library, schema, body):
    with pytest.raises(TypeError, match="a schema and a body, both of type str"):
        library.composite(schema, body)


def test_a_library_of_kernels_defines_none(ns):
    with Library(ns, "IMPL", "CPU") as library, pytest.raises(RuntimeError, match="FRAGMENT"):
        library.composite("f(Tensor x) -> Tensor", "x")


def test_a_formula_may_have_statements(library, ns, x):
    library.define("f(Tensor x, Tensor? weight=None, bool flip=False) -> Tensor")
    library.impl("f", lambda x, weight=None, flip=False: x * x, "CPU")
    library.derivative(
        "f", {"x": "let g = 2 * grad * x; if weight == None { g } else { g * conj(weight) }"}
    )
    f = op_of(ns, "f")
    x.requires_grad_()
    assert autograd.gradcheck(f, [x])
    assert autograd.gradgradcheck(f, [x])
    (given,) = autograd.grad(f(x, opyard.tensor([3.0], dtype=opyard.float64)).sum(), [x])
    assert given.tolist() == [6.0, 12.0, 24.0]
