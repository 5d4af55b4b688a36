"""A user's program with arrays, which runs, and which mypy --strict must take as it is.

It reads measurements with NumPy, computes with tensors and arrays mixed, registers two operators,
trains a model and compares it with NumPy's own answer.
"""

import tempfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

import opyard
from opyard import Tensor, nn, optim
from opyard.library import Library, custom_op, register_fake
from opyard.profiler import profile

Floats: TypeAlias = npt.NDArray[np.float32]
Loss: TypeAlias = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Measurements:
    features: Floats
    targets: Floats

    @property
    def count(self) -> int:
        return len(self.features)


def measured(count: int, seed: int = 0) -> Measurements:
    generator = np.random.default_rng(seed)
    features = generator.normal(size=(count, 3)).astype(np.float32)
    weights = np.array([0.5, -1.0, 2.0], dtype=np.float32)
    return Measurements(features, features @ weights + np.float32(0.25))


# Numbers of NumPy are numbers: as operands, as arguments, as dimensions and as sizes.
def standardised(x: Tensor, dim: "int | np.int64" = 0) -> Tensor:
    middle = x.mean(dim, keepdim=True)
    spread = x.std(dim, keepdim=True).clamp(min=np.float32(1e-6))
    return (x - middle) / spread * np.float32(1) + np.float64(0)


def numbers_of_numpy(x: Tensor) -> Tensor:
    last = np.int64(x.dim() - 1)
    total: Tensor = x.sum(last, keepdim=np.bool_(True))
    total = total.add(np.float16(1), alpha=np.int32(2)).mul_(np.float32(0.5))
    total.copy_(1.0)
    total.copy_(np.float32(2))
    total.fill_(np.float64(3))
    largest, places = x.max(last)
    picked: Tensor = x.narrow(0, np.int64(0), np.int32(1)).select(0, np.int8(0))
    shifted = (places.int() << np.int64(1)) | np.int32(1) & 3
    turned = x.transpose(np.int64(0), last).permute(np.int64(1), 0)
    return turned.sum() + total.sum() + largest.sum() + picked.sum() + shifted.sum()


def shapes_of_arrays(x: Tensor, array: Floats) -> Tensor:
    rows, columns = array.shape
    flat = x.reshape(np.int64(rows * columns))
    square = flat.reshape(array.shape).view(rows, -1).expand(array.shape)
    made = opyard.zeros(array.shape) + opyard.ones(np.int64(rows), columns)
    filled = opyard.full(array.shape, np.float32(0.5)) + opyard.eye(np.int64(rows), columns)
    counted = opyard.arange(np.int64(rows)).reshape((np.int64(rows), 1))
    assert square.size(np.int64(0)) == rows
    return square + made + filled + counted.sum(np.array([0, 1]))


# What takes a Tensor takes an array, and what an operator gives for arrays is of their kind.
def mixed(x: Tensor, array: Floats) -> Tensor:
    beside: Tensor = x + array - array * x + array.mean()
    at_most: Tensor = x.minimum(x * 2).maximum(opyard.from_numpy(array))
    where = opyard.where(x > array, x, 0.0)
    both = opyard.cat([x, beside, at_most, where], dim=np.int64(0))
    return opyard.stack([both, both]).sum(0)


def back(x: Tensor) -> Floats:
    values: npt.NDArray[np.float64] = x.double().numpy()
    return values.astype(np.float32)


@custom_op("typed_arrays::weighted", mutates_args=())
def weighted(x: Tensor, weights: Tensor, factor: float = 1.0) -> Tensor:
    return (x * weights).sum(-1) * factor


def weighted_of_arrays(rows: Floats, weights: Floats) -> Floats:
    both: Floats = weighted(rows, weights) + weighted(rows, weights, factor=2.0)
    return both if both.ndim else weighted(rows, weights)


@register_fake("typed_arrays::weighted")
def _(x: Tensor, weights: Tensor, factor: float = 1.0) -> Tensor:
    return x.new_empty(x.shape[:-1])


lib = Library("typed_arrays_of_numpy", "DEF")
lib.define("ranks(Tensor x) -> Tensor")


def ranks(x: Tensor) -> Tensor:
    order: npt.NDArray[np.int64] = np.argsort(np.argsort(x.numpy()))
    return opyard.from_numpy(order)


lib.impl("ranks", ranks, "CPU")


def ranks_of_array(array: Floats) -> npt.NDArray[np.int64]:
    made: npt.NDArray[np.int64] = opyard.ops.typed_arrays_of_numpy.ranks(array)
    return made


# What a tensor says of itself has a type.
def first_size(x: Tensor) -> int:
    return x.shape[0] if x.dim() == len(x.size()) else x.size(0) + x.stride(0)


def number(x: Tensor) -> float:
    return x.sum().item()


def listed(x: Tensor) -> "list[list[float]]":
    return x.tolist()


class Doubled(nn.Module):
    """A model of models: a call gives what forward() of its class does."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(3, 3, dtype=opyard.float64)
        self.second = nn.LSTM(3, 2, device="cpu", dtype=opyard.float64)

    def forward(self, x: Tensor) -> Tensor:
        outputs, (hidden, cell) = self.second(self.first(x))
        return outputs + hidden.sum() * cell.sum()


class Outer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.inner = Doubled()

    def forward(self, x: Tensor) -> Tensor:
        return self.inner(x)


def of_array(layer: nn.Linear, array: Floats) -> Tensor:
    return layer(array)


class Regression(nn.Module):
    def __init__(self, features: int, hidden: int = 8) -> None:
        super().__init__()
        self.hidden = nn.Linear(features, hidden)
        self.out = nn.Linear(hidden, 1)

    def forward(self, x: Tensor) -> Tensor:
        return self.out(self.hidden(x).tanh()).squeeze(-1)


def batches(data: Measurements, size: int) -> "Iterator[tuple[Tensor, Tensor]]":
    for start in range(0, data.count, size):
        part = slice(start, start + size)
        yield opyard.from_numpy(data.features[part]), opyard.from_numpy(data.targets[part])


def squares(given: Tensor, wanted: Tensor) -> Tensor:
    return (given - wanted).pow(2).mean()


def trained(
    data: Measurements, loss_of: Loss, epochs: int = 60
) -> "tuple[Regression, list[float]]":
    opyard.manual_seed(0)
    model = Regression(data.features.shape[1])
    optimizer = optim.Adam(model.parameters(), lr=0.02)
    losses: list[float] = []
    for _ in range(epochs):
        total = 0.0
        for x, y in batches(data, size=16):
            optimizer.zero_grad()
            loss = loss_of(model(x), y)
            loss.backward()
            optimizer.step()
            total += float(loss)
        losses.append(total)
    return model, losses


def gradient_of(x: Tensor) -> Floats:
    leaf = x.detach().clone().requires_grad_()
    (leaf * leaf).sum().backward()
    if leaf.grad is None:
        raise ValueError("a leaf without a gradient")
    return back(leaf.grad)


def saved_and_loaded(model: Regression, x: Tensor, folder: Path) -> "dict[str, Tensor]":
    path = folder / "regression.safetensors"
    opyard.save(model.state_dict(), path)
    state = opyard.load(path)
    again = Regression(x.shape[-1])
    again.load_state_dict(state)
    compiled = opyard.jit.compile(again)
    assert np.allclose(back(compiled(x)), back(model(x)), atol=1e-6)
    return state


def time_of(x: Tensor) -> int:
    with profile() as prof:
        standardised(x)
    return sum(event.name.startswith("aten::") for event in prof.events())


def main() -> None:
    data = measured(64)
    x = opyard.from_numpy(data.features)
    normal = standardised(x, np.int64(0))
    reference = (data.features - data.features.mean(0)) / data.features.std(0, ddof=1)
    assert np.allclose(back(normal), reference, atol=1e-5)
    assert numbers_of_numpy(x.clone()).shape == ()
    assert shapes_of_arrays(x, data.features).shape == data.features.shape
    assert mixed(x, data.features).shape == (4 * data.count, 3)
    assert np.allclose(gradient_of(x), 2 * data.features)

    weights = opyard.tensor([1.0, 2.0, 3.0])
    answer: Tensor = weighted(x, weights, factor=0.5)
    assert np.allclose(back(answer), data.features @ np.array([0.5, 1.0, 1.5]), atol=1e-5)
    assert weighted_of_arrays(data.features, np.ones(3, np.float32)).shape == (data.count,)
    assert ranks_of_array(np.array([3.0, 1.0], np.float32)).tolist() == [1, 0]
    assert first_size(x) == data.count and number(weights) == 6
    assert len(listed(x)) == len(data.features)
    assert Outer()(x.double()).shape == (data.count, 2)
    assert of_array(nn.Linear(3, 1), data.features).shape == (data.count, 1)
    ranked: Tensor = opyard.ops.typed_arrays_of_numpy.ranks(opyard.tensor([3.0, 1.0, 2.0]))
    assert ranked.tolist() == [2, 0, 1]

    model, losses = trained(data, squares)
    assert losses[-1] < losses[0] / 4
    with opyard.no_grad():
        error: float = squares(model(x), opyard.from_numpy(data.targets)).item()
    assert error < 1
    with tempfile.TemporaryDirectory() as folder:
        weights_by_name = saved_and_loaded(model, x, Path(folder))
    assert weights_by_name["hidden.weight"].shape == (8, 3)
    assert time_of(x) > 0
    print(f"{len(losses)} epochs, error {error:.3f}")


if __name__ == "__main__":
    main()
