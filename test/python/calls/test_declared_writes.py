"""Every write that a schema declares is counted, whatever kernel makes it, taped or not.

What writes by NumPy counts nothing itself. Suspect dispatcher/src/schema/declared_writes.cpp, and
who holds a DeclaredWrites: pyfallback/kernels, pyfallback/operators/direct_call.cpp, the tape.
"""

from typing import Optional

import numpy as np
import pytest

import opyard
from opyard import Tensor, autograd, jit
from opyard.dispatch import DispatchMode
from opyard.library import Library, custom_op, override

aten = opyard.ops.aten


def scale(tensor, factor=100.0):
    tensor.numpy()[...] *= factor


REGISTERED = []  # of the test that runs


def write_by_custom_op():
    @custom_op("declared::scale", mutates_args={"x"})
    def op(x: Tensor, factor: float) -> None:
        scale(x, factor)

    return lambda x: op(x, 100.0)


def write_by_annotated_array():
    @custom_op("declared::scale_array", mutates_args={"x"})
    def op(x: np.ndarray, factor: float) -> None:
        x[...] *= factor

    return lambda x: op(x, 100.0)


def write_by_name():
    def kernel(factor, *, x):
        scale(x, factor)

    op = library_of("scale_named(float factor, *, Tensor(a!) x) -> ()", kernel)
    return lambda x: op(100.0, x=x)


def write_in_list():
    @custom_op("declared::scale_all", mutates_args={"xs"})
    def op(xs: list[Tensor]) -> None:
        for x in xs:
            scale(x)

    return lambda x: op([opyard.ones(2), x])


def write_optional():
    @custom_op("declared::scale_some", mutates_args={"x"})
    def op(y: Tensor, x: Optional[Tensor] = None) -> Tensor:  # noqa: UP045
        if x is not None:
            scale(x)
        return y.clone()

    op(opyard.ones(2))
    return lambda x: op(opyard.ones(2), x)


def write_in_dict():
    schema = "scale_dict(Tensor t, Dict(str, Tensor(a!)) xs) -> ()"
    op = library_of(schema, lambda t, xs: scale(xs["a"]))
    return lambda x: op(opyard.ones(1), {"a": x})


def write_in_tuple():
    schema = "scale_tuple(Tensor t, (Tensor(a!), int) x) -> ()"
    op = library_of(schema, lambda t, x: scale(x[0]))
    return lambda x: op(opyard.ones(1), (x, 1))


def write_unknown():
    @custom_op("declared::scale_unknown", mutates_args="unknown")
    def op(x: Tensor) -> None:
        scale(x)

    return op


def library_of(schema, kernel, key="CPU", **options):
    lib = Library("declared", "FRAGMENT")
    lib.define(schema)
    lib.impl(schema.split("(")[0], kernel, key, **options)
    REGISTERED.append(lib.close)
    return getattr(opyard.ops.declared, schema.split("(")[0])


def scale_and_give(x):
    scale(x)
    return x


def write_by_library():
    return library_of("scale_(Tensor(a!) x) -> Tensor(a!)", scale_and_give)


def write_with_keyset():
    return library_of("scale_keys(Tensor(a!) x) -> ()", lambda keys, x: scale(x), with_keyset=True)


def write_with_next():
    return library_of(
        "scale_next(Tensor(a!) x) -> ()", lambda call_next, x: scale(x), with_next=True
    )


def write_by_composite():
    return library_of("scale_composite(Tensor(a!) x) -> ()", scale, "CompositeImplicitAutograd")


def write_out():
    def kernel(y, *, out):
        np.copyto(out.numpy(), y.numpy())
        return out

    op = library_of("copy_out(Tensor y, *, Tensor(a!) out) -> Tensor(a!)", kernel)
    return lambda x: op(opyard.ones(2), out=x)


def write_by_override():
    def add_(self, other, *, alpha=1):
        self.numpy()[...] += other.numpy()
        return self

    REGISTERED.append(override("aten::add_.Tensor", "CPU")(add_).remove)
    return lambda x: x.add_(opyard.ones(2))


class Writing(DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        if op is aten.mul_.Tensor:
            scale(args[0])
            return args[0]
        return op(*args, **(kwargs or {}))


def write_in_mode():
    def write(x):
        with Writing():
            x.mul_(opyard.ones(2))

    return write


def write_in_mode_by_stack():
    def write(x):
        with Writing():
            aten.mul_.Tensor(x, np.ones(2, np.float32))

    return write


def write_in_graph():
    op = library_of("scale_graph(Tensor(a!) x) -> Tensor(a!)", scale_and_give)
    graph = jit.parse_ir(
        "graph(%x : Tensor):\n  %y : Tensor = declared::scale_graph(%x)\n  return (%y)"
    )
    code = jit.compile(graph)
    return lambda x: jit.InterpreterState(code).run_one_stage(x) if op else None


class Scale(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        scale(x)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 100.0


def write_by_function():
    return Scale.apply


WAYS = [value for name, value in sorted(globals().items()) if name.startswith("write_")]


@pytest.fixture
def way(request):
    yield request.param()
    while REGISTERED:
        REGISTERED.pop()()


@pytest.mark.parametrize("way", WAYS, indirect=True, ids=lambda w: w.__name__)
def test_G11_a_write_is_counted_and_a_gradient_that_needs_the_old_values_refused(way):
    x = opyard.tensor([1.0, 2.0])
    way(x)  # the first call may go another way than the next
    before = x._version
    way(x)
    assert x._version == before + 1, "not counted"
    w = opyard.tensor([1.0, 1.0], requires_grad=True)
    y = w * x
    way(x)
    with pytest.raises(ValueError, match="modified by an inplace operation"):
        y.sum().backward()
    with autograd.no_grad():
        before = x._version
        way(x)
        assert x._version == before + 1, "gradients are off"


def test_G11_a_write_that_a_kernel_counted_is_not_counted_again():
    @custom_op("declared::double", mutates_args={"x"})
    def double(x: Tensor) -> None:
        x.mul_(2)

    plain, through = opyard.ones(2), opyard.ones(2)
    plain.mul_(2)
    double(through)
    assert through._version == plain._version


def test_G11_what_raises_has_written():
    @custom_op("declared::half", mutates_args={"x"})
    def half(x: Tensor) -> None:
        scale(x[:1])
        raise KeyError("half")

    x = opyard.ones(2)
    with pytest.raises(KeyError):
        half(x)
    assert x._version == 1 and x.tolist() == [100.0, 1.0]


def test_G11_an_argument_that_is_only_read_is_not_counted():
    @custom_op("declared::into", mutates_args={"y"})
    def into(x: Tensor, y: Tensor) -> None:
        np.copyto(y.numpy(), x.numpy())

    x, y = opyard.ones(2), opyard.zeros(2)
    into(x, y)
    assert (x._version, y._version) == (0, 1)
    into(x, x)
    assert x._version == 1


def test_G11_a_kernel_may_resize_what_it_writes():
    def kernel(x):
        x.resize_([1000])

    op = library_of("grow(Tensor(a!) x) -> ()", kernel)
    x = opyard.empty(0)
    op(x)
    assert x.shape == (1000,) and x._version > 0
    REGISTERED.pop()()
