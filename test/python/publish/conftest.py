"""Operators that the tests of publishing publish."""

import pytest

import opyard

aten = opyard.ops.aten


@pytest.fixture
def published_ops(library, ns):
    """A library with operators of each kind that can be published, in the namespace `ns`."""
    library.define("twice(Tensor x) -> Tensor", tags=("pointwise",))
    library.impl("twice", lambda x: aten.mul(x, 2), "CompositeExplicitAutograd")
    library.derivative("twice", {"x": "grad * 2"})

    library.define("silu_mul(Tensor x, Tensor g, *, float scale=1.0) -> Tensor")
    library.impl(
        "silu_mul",
        lambda x, g, *, scale=1.0: aten.mul(aten.mul(aten.silu(x), g), scale),
        "CompositeExplicitAutograd",
    )
    library.derivative(
        "silu_mul",
        {
            "x": "sum_to(silu_backward(grad * g * scale, x), x)",
            "g": "sum_to(grad * silu(x) * scale, g)",
        },
    )

    library.define("clip_(Tensor(a!) x, float low, float high) -> Tensor(a!)")
    library.impl(
        "clip_", lambda x, low, high: aten.clamp_(x, low, high), "CompositeExplicitAutograd"
    )

    library.define("twice.out(Tensor x, *, Tensor(a!) out) -> Tensor(a!)")
    library.impl(
        "twice.out", lambda x, *, out: aten.mul(x, 2, out=out), "CompositeExplicitAutograd"
    )

    library.define("pieces(Tensor[] parts, int dim=0) -> (Tensor joined, Tensor smallest)")
    library.impl(
        "pieces",
        lambda parts, dim=0: (aten.cat(parts, dim), aten.amin(aten.cat(parts, dim))),
        "CompositeImplicitAutograd",
    )

    library.define("first_half(Tensor(a) x) -> Tensor(a)")
    library.impl("first_half", lambda x: x[: len(x) // 2], "CompositeExplicitAutograd")

    library.define("plain(Tensor x, Tensor? bias=None) -> Tensor")
    library.impl(
        "plain",
        lambda x, bias=None: aten.add(x, 1 if bias is None else bias),
        "CompositeExplicitAutograd",
    )

    library.define("ramp(SymInt size) -> Tensor")
    library.impl(
        "ramp",
        lambda size: aten.empty([size], device="meta")
        if not isinstance(size, int)
        else aten.arange(size, dtype=opyard.float32),
        "CompositeExplicitAutograd",
    )
    return library
