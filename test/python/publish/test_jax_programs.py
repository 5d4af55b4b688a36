"""test_jax_programs.py: published operators in what JAX traces, maps and runs on several threads.

Suspect publish/src/xla/, dispatcher/src/tensor/loan.cpp, then publish/python/opyard/_jax/.
"""

import subprocess
import sys
import threading

import numpy as np
import pytest
from frameworks import require
from processes import volume

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


def test_X33_wrong_sizes_are_errors_while_tracing_in_our_words():
    with opyard.jax.publish("aten::mm") as made:
        x = jnp.ones((2, 3))
        wanted = r"aten::mm: self is float32\[2, 3\] and mat2 is float32\[2, 3\]"
        for trace in (jax.jit, jax.make_jaxpr, lambda f: lambda x: jax.eval_shape(f, x)):
            with pytest.raises(ValueError, match=wanted):
                trace(lambda x: made["aten::mm"](x, x))(x)


def test_tracing_runs_no_kernel(library, ns):
    calls = []
    define(
        library, "told(Tensor x) -> Tensor", lambda x: (calls.append(x.device), aten.mul(x, 2))[1]
    )
    with opyard.jax.publish(ns) as made:
        shaped = jax.eval_shape(made["told"], jax.ShapeDtypeStruct((1 << 40, 3), jnp.float16))
        assert (shaped.shape, shaped.dtype) == ((1 << 40, 3), jnp.float16)
        jaxpr = str(jax.make_jaxpr(made["told"])(jnp.ones(2)))
        assert "ffi_call" in jaxpr and f"{ns}::told" in jaxpr
        assert {str(device) for device in calls} == {"meta"}


def test_sizes_that_are_symbols_are_refused(published):
    (n,) = jax.export.symbolic_shape("n")
    with pytest.raises(TypeError, match="symbolic size n"):
        jax.eval_shape(published["twice"], jax.ShapeDtypeStruct((n,), jnp.float32))


def test_an_exported_program_names_the_operator(published_ops, ns):
    safe = [jax.export.DisabledSafetyCheck.custom_call("opyard_call")]
    with opyard.jax.publish(ns) as made:
        exported = jax.export.export(jax.jit(made["twice"]), disabled_checks=safe)(jnp.ones(3))
        kept = exported.serialize()
        assert jax.export.deserialize(kept).call(jnp.ones(3)).tolist() == [2, 2, 2]
    again = jax.export.deserialize(kept)
    with pytest.raises(Exception, match=f"{ns}::twice is not published into JAX in this process"):
        jax.jit(lambda x: again.call(x) + 1)(jnp.ones(3))


def test_errors_of_kernels_are_errors_of_XLA(library, ns):
    def refuse(x):
        if x.device.type == "meta":
            return aten.empty_like(x)
        raise ValueError("the kernel does not like it: ünïcode")

    define(library, "refuse(Tensor x) -> Tensor", refuse)
    define(
        library,
        "lie(Tensor x) -> Tensor",
        lambda x: aten.empty_like(x) if x.device.type == "meta" else aten.ones([7]),
    )
    define(
        library,
        "turn(Tensor x) -> Tensor",
        lambda x: aten.empty_like(x) if x.device.type == "meta" else aten.gt(x, 0),
    )
    with opyard.jax.publish(ns) as made:
        x = jnp.ones(3)
        for name, words in (
            ("refuse", "ValueError: the kernel does not like it: ünïcode"),
            ("lie", r"a result is .*7.*, and what its kernel for Meta said was"),
            ("turn", r"a result is .*bool.*, and what its kernel for Meta said was"),
        ):
            program = jax.jit(made[name])
            for _ in range(3):
                with pytest.raises(jax.errors.JaxRuntimeError, match=words):
                    jax.block_until_ready(program(x))


@pytest.mark.parametrize(
    "dtype",
    "bool int8 int16 int32 uint8 uint16 uint32 float16 bfloat16 float32 complex64".split(),
)
def test_elements_of_each_type_that_both_have(dtype):
    with opyard.jax.publish("aten::clone") as made:
        x = jnp.asarray(np.arange(6).reshape(2, 3) % 2, dtype)
        result = jax.jit(lambda x: made["aten::clone"](x))(x)
        assert result.dtype == x.dtype and jnp.array_equal(result, x)


def test_results_of_64_bits_are_halved_while_JAX_has_none(library, ns):
    define(library, "wide(Tensor x, ScalarType dtype) -> Tensor", lambda x, dtype: x.to(dtype))
    with opyard.jax.publish(["aten::argmax", f"{ns}::wide"]) as made:
        x = jnp.array([0.5, -0.0, 3.25, 2.0])
        at = jax.jit(made["aten::argmax"])(x)
        assert at == 2 and at.dtype == jnp.int32
        wide = jax.jit(lambda x: made[f"{ns}::wide"](x, opyard.float64))(x)
        assert wide.dtype == jnp.float32 and wide.tolist() == x.tolist()
        both = jax.jit(lambda x: made[f"{ns}::wide"](x, opyard.complex128))(x)
        assert both.dtype == jnp.complex64 and both.tolist() == x.tolist()
        bare = jax.jit(lambda x: made[f"{ns}::wide"](x, opyard.uint64))(x)
        assert bare.dtype == jnp.uint32 and bare.tolist() == [0, 0, 3, 2]
        with jax.enable_x64(True):
            at = jax.jit(made["aten::argmax"])(jnp.asarray(x, jnp.float64))
            assert at == 2 and at.dtype == jnp.int64
            wide = made[f"{ns}::wide"](jnp.arange(3), opyard.float64)
            assert wide.dtype == jnp.float64
            bare = made[f"{ns}::wide"](jnp.arange(3), opyard.uint64)
            assert bare.dtype == jnp.uint64 and bare.tolist() == [0, 1, 2]


def test_arrays_without_elements_and_of_many_dimensions(published):
    for sizes in ((0,), (2, 0, 3), (), (1, 2, 1, 2, 1, 2, 1)):
        x = jnp.ones(sizes)
        for program in (published["twice"], jax.jit(published["twice"])):
            result = program(x)
            assert result.shape == sizes and jnp.array_equal(result, x * 2)
        slope = jax.grad(lambda x: published["twice"](x).sum())(x)
        assert jnp.array_equal(slope, jnp.full(sizes, 2.0))


def test_results_in_other_strides_are_put_in_rows(library, ns):
    define(library, "turned(Tensor x) -> Tensor", lambda x: x.t())
    define(library, "same(Tensor x) -> Tensor", lambda x: x)
    with opyard.jax.publish(ns) as made:
        x = jnp.arange(6.0).reshape(2, 3)
        assert jnp.array_equal(jax.jit(made["turned"])(x), x.T)
        # A result that is an argument is copied as any other.
        assert jnp.array_equal(jax.jit(made["same"])(x), x)
        assert jnp.array_equal(jax.jit(lambda x: made["turned"](x.T))(x), x)


@pytest.mark.parametrize("sizes", [(4,), (1, 2, 1, 2, 1, 1)])
def test_what_a_kernel_keeps_of_an_argument_becomes_a_copy(library, ns, sizes):
    kept = []

    def keep(x):
        if x.device.type != "meta":
            kept.append((x, aten.select(x, 0, 0)))
        return aten.add(x, 1)

    define(library, "keep(Tensor x) -> Tensor", keep)
    with opyard.jax.publish(ns) as made:
        program = jax.jit(made["keep"])
        for n in range(volume(20)):
            x = jnp.full(sizes, float(n))
            assert (program(x) == n + 1).all()
            del x
        for n, (x, part) in enumerate(kept):
            assert (x.numpy() == n).all() and (part.numpy() == n).all()
            aten.add_(part, 1)  # which is of the same memory
            assert (x.numpy()[0] == n + 1).all()


def test_an_argument_that_is_not_declared_written_cannot_be(library, ns):
    define(
        library,
        "sneaky(Tensor x) -> Tensor",
        lambda x: aten.clone(x) if x.device.type == "meta" else aten.clone(aten.mul_(x, 2)),
    )
    with opyard.jax.publish(ns) as made:
        x = jnp.ones(3)
        with pytest.raises(jax.errors.JaxRuntimeError, match="read-only"):
            jax.block_until_ready(jax.jit(made["sneaky"])(x))
        assert x.tolist() == [1, 1, 1]


def test_vmap_calls_once_for_each_element_or_at_once_if_pointwise(library, ns):
    shapes = []

    def twice(x):
        if x.device.type != "meta":
            shapes.append(tuple(x.shape))
        return aten.mul(x, 2)

    define(library, "each(Tensor x) -> Tensor", twice)
    define(library, "whole(Tensor x) -> Tensor", twice, tags=("pointwise",))
    with opyard.jax.publish(ns) as made:
        x = jnp.arange(6.0).reshape(2, 3)
        for name, wanted in (("each", [(2,)] * 3), ("whole", [(3, 2)])):
            shapes.clear()
            result = jax.vmap(made[name], in_axes=1, out_axes=1)(x)
            assert jnp.array_equal(result, x * 2) and shapes == wanted
        assert jax.vmap(made["each"])(jnp.zeros((0, 3))).shape == (0, 3)


def test_vmap_of_several_results_and_of_what_writes(published):
    x = jnp.arange(6.0).reshape(3, 2)
    joined, smallest = jax.vmap(lambda a: published["pieces"]([a, a + 1]))(x)
    assert joined.shape == (3, 4) and smallest.tolist() == [0, 2, 4]
    clipped = jax.jit(jax.vmap(lambda a: published["clip_"](a, 1.0, 3.0)))(x)
    assert jnp.array_equal(clipped, jnp.clip(x, 1, 3))


def test_vmap_by_a_rule_of_the_operator(published, ns):
    sizes = []

    def rule(size, batched, x, g, scale):
        sizes.append((size, batched, scale))
        assert batched == [True, False, False]
        return published["silu_mul"](x, g[None], scale=scale)

    published.register_vmap("silu_mul", rule)
    x, g = jnp.arange(6.0).reshape(3, 2), jnp.array([1.0, 2.0])
    made = jax.vmap(lambda x: published["silu_mul"](x, g, scale=2.0))(x)
    np.testing.assert_allclose(made, jax.nn.silu(x) * g * 2, rtol=1e-6)
    assert sizes == [(3, [True, False, False], 2.0)]
    np.testing.assert_allclose(published["silu_mul"](x[0], g), jax.nn.silu(x[0]) * g, rtol=1e-6)
    slope = jax.grad(lambda x: published["silu_mul"](x, g).sum())(x[0])
    np.testing.assert_allclose(
        slope, jax.grad(lambda x: (jax.nn.silu(x) * g).sum())(x[0]), rtol=1e-6
    )
    with pytest.raises(KeyError):
        published.register_vmap("nothing", rule)


def test_kernels_in_python_run_while_threads_call_programs(library, ns):
    """A program runs without the GIL, in threads of XLA or the caller's; the kernel takes it."""
    define(library, "slow(Tensor x, int n) -> Tensor", lambda x, n: aten.add(x, sum(range(n))))
    with opyard.jax.publish(ns) as made:
        program = jax.jit(
            lambda x: sum(made["slow"](x + i, 50) for i in range(4)) + made["slow"](x, 10)
        )
        wanted = 4 * (1225 + 1) + 6 + 45 + 1
        wrong = []

        def run():
            for _ in range(volume(100)):
                result = program(jnp.ones(1000))
                if not (result == wanted).all():
                    wrong.append(result)

        program(jnp.ones(1000))
        threads = [threading.Thread(target=run) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_several_threads_run_one_call_at_once():
    with opyard.jax.publish("aten::mul.Tensor") as made:
        program = jax.jit(lambda x, y: made["mul.Tensor"](x, y))
        wrong = []

        def run(number):
            x = jnp.full(100, float(number))
            for _ in range(volume(1000)):
                if not (program(x, x) == number * number).all():
                    wrong.append(number)

        program(jnp.ones(100), jnp.ones(100))
        threads = [threading.Thread(target=run, args=(n,)) for n in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not wrong


def test_a_process_ends_while_operators_are_published():
    program = """
import jax, jax.numpy as jnp, opyard
made = opyard.jax.publish("aten::exp")
f = jax.jit(jax.grad(lambda x: made["aten::exp"](x).sum()))
print(float(f(jnp.zeros(3))[0]))
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert (done.returncode, done.stdout) == (0, "1.0\n"), done.stderr
