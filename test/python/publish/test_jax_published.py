"""test_jax_published.py: operators as functions of JAX: calls, results, refusals, undo.

Suspect publish/python/opyard/_jax/, then publish/src/xla/.
"""

import gc

import numpy as np
import pytest
from frameworks import require

import opyard

jax = require("jax")
jnp = jax.numpy
pytestmark = pytest.mark.once
aten = opyard.ops.aten


@pytest.fixture
def published(published_ops, ns):
    with opyard.jax.publish(ns) as made:
        yield made


def define(library, schema, kernel, key="CompositeExplicitAutograd", **more):
    library.define(schema, **more)
    library.impl(schema.partition("(")[0], kernel, key)


def both_ways(function, *args):
    """What a function gives, which is the same called plainly and compiled."""
    plain, compiled = function(*args), jax.jit(function)(*args)
    for one, other in zip(
        jax.tree_util.tree_leaves(plain), jax.tree_util.tree_leaves(compiled), strict=True
    ):
        np.testing.assert_array_equal(one, other)
    return plain


def test_X33_a_call_runs_the_kernel_in_programs_of_XLA(published):
    x = jnp.arange(4.0)
    np.testing.assert_array_equal(both_ways(published["twice"], x), x * 2)
    np.testing.assert_allclose(
        both_ways(lambda x: published["silu_mul"](x, x, scale=3.0), x),
        jax.nn.silu(x) * x * 3,
        rtol=1e-6,
    )
    text = jax.jit(published["twice"]).lower(x).as_text()
    assert "opyard_call" in text and "twice(Tensor x) -> Tensor" in text


def test_several_results_lists_and_what_is_optional(published):
    x = jnp.arange(4.0)
    joined, smallest = both_ways(lambda x: published["pieces"]([x, x + 1]), x)
    np.testing.assert_array_equal(joined, jnp.concatenate([x, x + 1]))
    assert smallest == 0 and smallest.shape == ()
    np.testing.assert_array_equal(both_ways(published["plain"], x), x + 1)
    np.testing.assert_array_equal(both_ways(published["plain"], x, x), x + x)


def test_a_call_without_arrays_makes_some(published):
    np.testing.assert_array_equal(published["ramp"](3), jnp.arange(3.0))
    np.testing.assert_array_equal(jax.jit(lambda: published["ramp"](5) + 1)(), jnp.arange(5.0) + 1)


def test_results_that_are_a_list(library, ns):
    define(library, "halves(Tensor x, int n=2) -> Tensor[]", lambda x, n=2: list(aten.chunk(x, n)))
    with opyard.jax.publish(ns) as made:
        parts = both_ways(lambda x: made["halves"](x, n=3), jnp.arange(6))
        assert [part.tolist() for part in parts] == [[0, 1], [2, 3], [4, 5]]


def test_constants_of_every_type_arrive(library, ns):
    seen = []
    define(
        library,
        "all_of(Tensor x, int i, float f, bool b, str s, complex c, int[] li, float[2] lf, "
        "bool[]? lb=None, ScalarType? dtype=None, Scalar n=1, str[] ls=[], Device? device=None, "
        "Tensor? t=None, MemoryFormat? format=None, Layout? layout=None) -> Tensor",
        lambda x, *rest, **named: (seen.append((rest, named)), aten.clone(x))[1],
    )
    with opyard.jax.publish(ns) as made:
        text = 'a "quoted" \\ line\n\ttab \x01 ünïcode, (b)'
        given = (-(2**63), float("inf"), True, text, 1.5 - 2j, [1, -2], [1e-300, -0.0])
        named = {"lb": [True, False], "n": 2.5, "ls": ["x", ""], "device": "cpu", "format": 0}
        jax.jit(lambda x: made["all_of"](x, *given, dtype=jnp.bfloat16, **named))(jnp.ones(2))
        meta, real = seen
        for rest, kwargs in (meta, real):
            values = [*rest, *kwargs.values()]
            assert values[:7] == list(given) and repr(values[6]) == "[1e-300, -0.0]"
            assert values[7:11] == [[True, False], opyard.bfloat16, 2.5, ["x", ""]]
        made["all_of"](jnp.ones(2), 1, float("nan"), False, "", 2j, [], 3.0)
        assert str(seen[-1][0][1]) == "nan" and seen[-1][0][4:7] == (2j, [], [3.0, 3.0])


def test_what_writes_gives_new_arrays(published, library, ns):
    x = jnp.array([-2.0, 0.5, 2.0])
    np.testing.assert_array_equal(
        both_ways(lambda x: published["clip_"](x, 0.0, 1.0) + x, x), jnp.clip(x, 0, 1) + x
    )
    assert x.tolist() == [-2.0, 0.5, 2.0]


def test_results_beside_what_is_written(library, ns):
    define(
        library,
        "take_(Tensor a, Tensor(a!) x, Tensor(b!) y) -> (Tensor, Tensor(b!), Tensor(a!))",
        lambda a, x, y: (aten.add(a, x), aten.add_(y, 2), aten.add_(x, 1)),
    )
    define(library, "fill_(Tensor(a!) x) -> ()", lambda x: (aten.fill_(x, 7), None)[1])
    with opyard.jax.publish(ns) as made:
        new, y, x = both_ways(made["take_"], jnp.ones(2), jnp.zeros(2), jnp.arange(2.0))
        assert (new.tolist(), y.tolist(), x.tolist()) == ([1, 1], [2, 3], [1, 1])
        assert both_ways(made["fill_"], jnp.ones(2)).tolist() == [7, 7]


def test_X33_what_JAX_cannot_have_is_refused_with_the_reason(published_ops, ns):
    published_ops.define("any_number(...) -> ...")
    published_ops.define("number(Tensor x) -> int")
    published_ops.define("later(Tensor x) -> Future(Tensor)")
    published_ops.define("nothing(Tensor x) -> ()")
    published_ops.define("some(Tensor x) -> Tensor", tags=("dynamic_output_shape",))
    published_ops.define("shrink_(Tensor(a!) x) -> Tensor(a!)", tags=("inplace_view",))
    published_ops.define("table(Tensor x, Dict(str, int) names) -> Tensor")
    with opyard.jax.publish(ns) as made:
        refused = {name.partition("::")[2]: why for name, why in made.refused.items()}
        words = {
            "first_half": "view of an argument",
            "twice.out": "writes its results to out",
            "any_number": "any number of values",
            "number": "gives int",
            "later": "Future",
            "nothing": "gives nothing",
            "some": "depend on elements",
            "shrink_": "changes the sizes",
            "table": "no constant of XLA",
        }
        assert set(refused) == set(words)
        for name, word in words.items():
            assert word in refused[name], name
        assert f"{ns}::twice" in made and "first_half: its result is a view" in repr(made)
        with pytest.raises(KeyError, match="view of an argument"):
            made["first_half"]
    with pytest.raises(ValueError, match="no operator could be published"):
        opyard.jax.publish(f"{ns}::number")


def test_wrong_arguments_are_errors_in_our_words(published, ns):
    x = jnp.ones(3)
    with pytest.raises(TypeError, match=rf"{ns}::silu_mul\(\): missing a required argument: 'g'"):
        published["silu_mul"](x)
    with pytest.raises(TypeError, match=r"argument 'scale' is float, which has to be known"):
        jax.jit(lambda x, s: published["silu_mul"](x, x, scale=s))(x, 2.0)
    assert jax.jit(lambda x, s: published["silu_mul"](x, x, scale=s), static_argnums=1)(
        x, 2.0
    ).shape == (3,)
    with pytest.raises(TypeError, match=r"argument 'x' has elements of float8_e5m2"):
        published["twice"](jnp.ones(2, jnp.float8_e5m2))
    with pytest.raises(TypeError, match="scale"):
        published["silu_mul"](x, x, scale="no")
    with pytest.raises(TypeError):
        published["pieces"]([x, None])


def test_twice_is_refused_and_what_is_named_can_be_several(published_ops, ns):
    with pytest.raises(LookupError, match="no operator nobody_has_this::"):
        opyard.jax.publish("nobody_has_this")
    with opyard.jax.publish([f"{ns}::plain", "aten::mul.Tensor"]) as made:
        assert set(made) == {f"{ns}::plain", "aten::mul.Tensor"}
        with pytest.raises(ValueError, match=r"published as \S+plain already: undo\(\) that first"):
            opyard.jax.publish(f"{ns}::plain")
    with opyard.jax.publish(getattr(opyard.ops, ns).twice) as made:
        assert set(made) == {f"{ns}::twice"}


def test_undo_takes_functions_and_programs_back_and_they_can_come_again(published_ops, ns):
    x = jnp.arange(3.0)
    made = opyard.jax.publish(ns)
    function, program = made["twice"], jax.jit(made["twice"])
    gradient = jax.jit(jax.grad(lambda x: function(x).sum()))
    program(x), gradient(x)
    made.undo()
    made.undo()
    with pytest.raises(KeyError):
        made["twice"]
    with pytest.raises(RuntimeError, match="published into JAX, and is no more"):
        function(x)
    for compiled in (program, gradient):
        with pytest.raises(ValueError, match="published into JAX, and is no more"):
            jax.block_until_ready(compiled(x))
    with opyard.jax.publish(ns) as again:
        np.testing.assert_array_equal(program(x), x * 2)
        np.testing.assert_array_equal(again["twice"](x), x * 2)


def test_what_is_undefined_here_is_taken_back_there(library, ns):
    x = jnp.arange(3.0)
    programs = []
    for declared, factor in (("Tensor x", 2), ("Tensor x, int n=3", 3), ("Tensor x", 4)):
        with opyard.library.Library(f"{ns}_changed", "DEF") as lib:
            define(lib, f"f({declared}) -> Tensor", lambda x, n=0, by=factor: aten.mul(x, by))
            made = opyard.jax.publish(f"{ns}_changed")
            np.testing.assert_array_equal(both_ways(made["f"], x), x * factor)
            programs.append(jax.jit(made["f"]))
            programs[-1](x)
        assert len(made) == 0
        for program in programs:
            with pytest.raises(ValueError, match="is no more"):
                jax.block_until_ready(program(x))


def test_it_stays_when_nobody_keeps_the_result(published_ops, ns):
    program = jax.jit(opyard.jax.publish(f"{ns}::twice")["twice"])
    gc.collect()
    assert program(jnp.ones(2)).tolist() == [2, 2]
    with pytest.raises(ValueError, match="already"):
        opyard.jax.publish(f"{ns}::twice")


def test_operators_of_aten_are_functions_of_JAX(ns):
    rng = np.random.default_rng(0)
    a, b = rng.standard_normal((3, 4), np.float32), rng.standard_normal((4, 2), np.float32)
    with opyard.jax.publish(
        ["aten::mm", "aten::softmax.int", "aten::argmax", "aten::sort"]
    ) as made:
        np.testing.assert_allclose(both_ways(made["aten::mm"], a, b), a @ b, rtol=1e-5)
        np.testing.assert_allclose(
            both_ways(lambda x: made["softmax.int"](x, 1), a), jax.nn.softmax(a, 1), rtol=1e-5
        )
        values, order = both_ways(lambda x: made["aten::sort"](x, 0, True), jnp.asarray(a))
        np.testing.assert_array_equal(values, -np.sort(-a, 0))
        np.testing.assert_array_equal(order, np.argsort(-a, 0))
