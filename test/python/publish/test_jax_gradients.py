"""test_jax_gradients.py: gradients of published operators in JAX.

Suspect publish/python/opyard/_jax/gradients.py, then autograd/src/derivative_call.cpp.
"""

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


def test_X33_a_gradient_is_the_derivative_in_JAX_too(published):
    x, g = jnp.linspace(-1, 1, 12).reshape(3, 4), jnp.arange(4.0)
    weights = jnp.arange(12.0).reshape(3, 4)

    def ours(x, g):
        return (published["silu_mul"](x, g, scale=2.0) * weights).sum()

    def theirs(x, g):
        return (jax.nn.silu(x) * g * 2 * weights).sum()

    for way in (lambda f: f, jax.jit):
        for made, wanted in zip(
            way(jax.grad(ours, (0, 1)))(x, g), jax.grad(theirs, (0, 1))(x, g), strict=True
        ):
            np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=1e-6)
    value, made = jax.value_and_grad(ours)(x, g)
    np.testing.assert_allclose(value, theirs(x, g), rtol=1e-5)


def test_only_what_is_wanted_is_computed(library, ns):
    """A formula that would raise is not run for an argument that nothing depends on."""
    define(library, "half_known(Tensor a, Tensor b) -> Tensor", lambda a, b: aten.mul(a, b))
    library.derivative("half_known", {"a": "grad * b"})
    with opyard.jax.publish(ns) as made:
        a, b = jnp.ones(3), jnp.arange(3.0)
        call = made["half_known"]
        np.testing.assert_array_equal(jax.grad(lambda a: call(a, b).sum())(a), b)
        with pytest.raises(RuntimeError, match="no formula for its argument 'b'"):
            jax.grad(lambda b: call(a, b).sum())(b)


def test_operators_made_of_others_have_the_gradient_of_these(published):
    a, b = jnp.array([3.0, 1.0]), jnp.array([2.0])

    def loss(a, b):
        joined, smallest = published["pieces"]([a, b])
        return (joined * jnp.arange(3.0)).sum() + smallest * 3

    for way in (lambda f: f, jax.jit):
        of_a, of_b = way(jax.grad(loss, (0, 1)))(a, b)
        assert of_a.tolist() == [0, 4] and of_b.tolist() == [2]
    # One of a list, and one of two results.
    assert jax.grad(lambda b: published["pieces"]([a, b])[0].sum())(b).tolist() == [1]


def test_a_backward_in_python_serves_JAX_too(library, ns):
    define(library, "cube(Tensor x) -> Tensor", lambda x: x * x * x)

    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(inputs[0])

    def backward(ctx, grad):
        (x,) = ctx.saved_tensors
        assert isinstance(x, opyard.Tensor)
        return grad * x * x * 3

    opyard.library.register_autograd(f"{ns}::cube", backward, setup_context=setup_context)
    with opyard.jax.publish(ns) as made:
        x = jnp.arange(4.0)
        np.testing.assert_array_equal(
            jax.jit(jax.grad(lambda x: made["cube"](x).sum()))(x), 3 * x**2
        )


def test_what_has_no_gradient_says_so(published, ns):
    x = jnp.ones(3)
    assert set(published.without_gradient) == {f"{ns}::plain", f"{ns}::clip_"}
    with pytest.raises(
        TypeError, match=rf"{ns}::plain\(\) has no gradient in JAX: it has no deriv"
    ):
        jax.grad(lambda x: published["plain"](x).sum())(x)
    with pytest.raises(TypeError, match="it writes to its arguments"):
        jax.grad(lambda x: published["clip_"](x, 0.0, 1.0).sum())(x)
    assert jax.grad(lambda w: (published["plain"](x) * w).sum())(x).tolist() == [2, 2, 2]


def test_integers_have_no_gradient_and_stop_none(library, ns):
    define(
        library, "rows(Tensor x, Tensor at) -> Tensor", lambda x, at: aten.index_select(x, 0, at)
    )
    library.derivative("rows", {"x": "index_add(zeros_like(x), 0, at, grad)"})
    define(library, "best(Tensor x) -> Tensor", lambda x: aten.argmax(x))
    define(library, "top(Tensor x) -> (Tensor, Tensor)", lambda x: (aten.amax(x), aten.argmax(x)))
    library.derivative("top", {"x": "grad0 * eq(x, result0)"})
    with opyard.jax.publish(ns) as made:
        x, at = jnp.arange(6.0).reshape(3, 2), jnp.array([2, 2])
        assert jax.grad(lambda x: made["rows"](x, at).sum())(x).tolist() == [[0, 0], [0, 0], [2, 2]]
        row = jnp.array([1.0, 5.0, 2.0])
        assert jax.grad(lambda x: x[made["best"](x)] * 3)(row).tolist() == [0, 3, 0]
        largest, at = made["top"](row)
        assert (largest, at) == (5, 1)
        assert jax.grad(lambda x: made["top"](x)[0] * 2)(row).tolist() == [0, 2, 0]
        assert jax.grad(lambda x: made["top"](x)[1] * 1.0)(row).tolist() == [0, 0, 0]


def test_complex_gradients_follow_the_convention_of_JAX(library, ns):
    define(library, "square(Tensor x) -> Tensor", lambda x: aten.mul(x, x))
    library.derivative("square", {"x": "grad * conj(x * 2)"})
    with opyard.jax.publish(ns) as made:
        z = jnp.array([1 + 2j, -0.5 + 1j], jnp.complex64)
        for loss in (lambda y: jnp.real(y).sum(), lambda y: (jnp.abs(y) ** 2).sum()):
            np.testing.assert_allclose(
                jax.grad(lambda z, loss=loss: loss(made["square"](z)))(z),
                jax.grad(lambda z, loss=loss: loss(z * z))(z),
                rtol=1e-5,
            )
        np.testing.assert_allclose(
            jax.grad(made["square"], holomorphic=True)(z[0]), 2 * z[0], rtol=1e-6
        )


def test_second_gradients_and_forward_mode_are_refused(published):
    x = jnp.ones(3)

    def first(x):
        return jax.grad(lambda x: published["silu_mul"](x, x).sum())(x).sum()

    with pytest.raises(TypeError, match="second gradients are not published"):
        jax.grad(first)(x)
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(published["twice"], (x,), (x,))


def test_gradients_under_vmap_and_in_loops(published):
    x = jnp.arange(6.0).reshape(3, 2)
    slope = jax.grad(lambda x: (published["twice"](x) ** 2).sum())
    np.testing.assert_array_equal(jax.vmap(slope)(x), 8 * x)
    np.testing.assert_array_equal(
        jax.grad(lambda x: jax.vmap(published["twice"])(x).sum())(x), jnp.full((3, 2), 2.0)
    )

    def loss(x):
        return jax.lax.scan(lambda c, _: (published["twice"](c), None), x, length=3)[0].sum()

    np.testing.assert_array_equal(jax.jit(jax.grad(loss))(x[0]), [8, 8])
    np.testing.assert_array_equal(
        jax.grad(jax.checkpoint(lambda x: published["twice"](x).sum()))(x[0]), [2, 2]
    )


def test_random_operators_draw_each_time_and_have_no_gradient(ns):
    with opyard.jax.publish(["aten::rand_like", "aten::rand"]) as made:
        x = jnp.zeros(4)
        assert "random" in made.without_gradient["aten::rand_like"]
        two = jax.jit(lambda: (made["aten::rand"]([4]), made["aten::rand"]([4])))
        first, second = two()
        assert first.shape == (4,) and not jnp.array_equal(first, second)
        assert not jnp.array_equal(two()[0], first)
        many = jax.vmap(made["aten::rand_like"])(jnp.zeros((3, 4)))
        assert len(set(many.ravel().tolist())) > 6
        with pytest.raises(Exception, match="cannot be differentiated"):
            jax.grad(lambda x: made["aten::rand_like"](x).sum())(x)
