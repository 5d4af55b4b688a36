"""A program as a user writes it, which mypy --strict must take as it is."""

import numpy as np
import numpy.typing as npt

import opyard
from opyard import jit
from opyard.autograd import Function, FunctionCtx, grad
from opyard.dispatch import DispatchKey, DispatchKeySet, DispatchMode, explain, what_if
from opyard.futures import Future, wait_all
from opyard.library import (
    Library,
    custom_op,
    get_ctx,
    impl,
    infer_schema,
    opcheck,
    override,
    register_fake,
    register_kernel,
)
from opyard.testing import CallLog, LoggingMode


@custom_op("typed::twice", mutates_args=())
def twice(x: opyard.Tensor, times: int = 2) -> opyard.Tensor:
    return x * times


y: opyard.Tensor = twice(opyard.tensor([1.0]), times=3)


@register_fake("typed::twice")
def fake(x: opyard.Tensor, times: int = 2) -> opyard.Tensor:
    return opyard.zeros(get_ctx().new_dynamic_size(), device="meta")


z: opyard.Tensor = fake(y)


@register_kernel("typed::twice", "cpu")
def kernel(x: opyard.Tensor, times: int = 2) -> opyard.Tensor:
    return x


k: opyard.Tensor = kernel(y, 3)


@impl("typed::twice", "CPU")
def implemented(x: opyard.Tensor, times: int = 2) -> opyard.Tensor:
    return x


i: opyard.Tensor = implemented(y)


class Counting(DispatchMode):
    def __init__(self) -> None:
        self.count = 0

    def __opyard_dispatch__(
        self,
        op: opyard._C.OpOverload,
        types: "tuple[type, ...]",
        args: "tuple[object, ...]" = (),
        kwargs: "dict[str, object] | None" = None,
    ) -> object:
        self.count += 1
        return op(*args, **kwargs or {})


with Counting() as mode:
    mode.count += 1
key: DispatchKey = DispatchKey.CPU
keys = DispatchKeySet([DispatchKey.CPU, DispatchKey.AutogradCPU])
future: Future[int] = Future()
future.set_result(3)
number: int = future.wait()
then: Future[str] = future.then(lambda done: str(done.value()))
text: str = f"{y:.2f} {explain(opyard.ops.aten.neg, y)} {what_if('typed::twice', 'CPU')}"
x = y + np.ones(1) + 1 - y
reshaped: opyard.Tensor = y.reshape(1, 1).float()
values, places = reshaped.max(0)
means: opyard.Tensor = values.mean(axis=0, keepdims=True) + places.sum(dim=0, keepdim=True)
turned: opyard.Tensor = reshaped.permute(1, 0).clamp(min=0.5).add(means, alpha=2)
beside = turned.maximum(np.ones((1, 1), dtype=np.float32))  # an array, as what came
made: opyard.Tensor = opyard.tensor([1], dtype=float, device="cpu")
with override("typed::twice", "CPU", lambda x, times=2: x):
    pass
lib = Library("typed2", "DEF")
lib.define("f(Tensor x) -> Tensor")
print(infer_schema(kernel, mutates_args=()), opcheck(twice, (y,)))
with LoggingMode() as log:
    calls: CallLog = log.log


class Wrapped(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(
        cls,
        op: opyard._C.OpOverload,
        types: "tuple[type, ...]",
        args: "tuple[object, ...]" = (),
        kwargs: "dict[str, object] | None" = None,
    ) -> object:
        return NotImplemented


class Cube(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: opyard.Tensor) -> opyard.Tensor:
        ctx.save_for_backward(x)
        return x * x * x

    @staticmethod
    def backward(ctx: FunctionCtx, grad: opyard.Tensor) -> opyard.Tensor:
        (x,) = ctx.saved_tensors
        return grad * 3 * x * x


cubed: opyard.Tensor = Cube.apply(opyard.ones(2))
counts: opyard.Tensor = opyard.zeros(2, dtype=int)


def spread(x: opyard.Tensor) -> opyard.Tensor:
    largest, _ = x.sort()
    return (x - x.mean()).square().sum().sqrt() * largest.numel()


def halves(x: opyard.Tensor) -> list[opyard.Tensor]:
    return x.double().chunk(2)


class Scaled(Function):
    @staticmethod
    def forward(ctx: FunctionCtx, x: opyard.Tensor, by: float) -> opyard.Tensor:
        ctx.by = by
        return x * by

    @staticmethod
    def backward(ctx: FunctionCtx, grad: opyard.Tensor) -> "tuple[opyard.Tensor, None]":
        return grad * ctx.by, None


leaf = opyard.ones(2, requires_grad=True)
(slope,) = grad(Scaled.apply(leaf, 3.0).sum(), leaf)
steep: opyard.Tensor = slope * 2
(maybe,) = grad(leaf.sum(), [leaf], allow_unused=True)
unused: bool = maybe is None
numbers: "list[int]" = wait_all([future])

builder = jit.GraphBuilder()
left, right = builder.input("left"), builder.input("right")
builder.output(left * right + 1, 3 - left, -left, left**2 / right, left @ right, left >= right)


def joined(parts: "list[opyard.Tensor]", is_stacked: bool) -> opyard.Tensor:
    return opyard.stack(parts) if is_stacked else opyard.cat(parts, dim=1)


def chosen(x: opyard.Tensor) -> opyard.Tensor:
    return opyard.where(x == 1j, x, 0.0)


def as_float32(x: opyard.Tensor) -> "npt.NDArray[np.float32]":
    return x.numpy().astype(np.float32)


def count(x: opyard.Tensor) -> "tuple[int, ...]":
    return x.size() + x.stride()


# Methods of tensors that are not operators, and dtypes of other makers.
kinds: list[bool] = [y.is_floating_point(), y.is_complex()]
converted: opyard.Tensor = y.to(float).to(np.dtype("float32")).sum(dtype=float)
total: opyard.Tensor = y.sum(dim=0, keepdims=True) + y.sum(axis=0, keepdim=True)
