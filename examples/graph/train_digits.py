"""Trains a digits network as a graph of two stages, compares with eager, and saves it for C++.

python train_digits.py [--epochs 30] [--save digits.safetensors]

Needs NumPy for the images. compile() makes one graph of the loss, with its gradients as the second
stage. The weights it ends with are bit for bit those of eager training.
"""

import argparse
import gzip
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import opyard
from opyard import jit, nn, optim

DATA = Path(__file__).resolve().parent.parent / "data" / "digits.csv.gz"
TRAIN = 1347
BATCH = 64


def load_digits(seed: int) -> tuple[np.ndarray, np.ndarray]:
    """float32[n, 64] from 0 to 1 and int64[n], in an order from a seed."""
    with gzip.open(DATA, "rt") as file:
        rows = np.loadtxt(file, delimiter=",", dtype=np.float32)
    rows = np.random.default_rng(seed).permutation(rows)
    return np.ascontiguousarray(rows[:, :64]) / np.float32(16), rows[:, 64].astype(np.int64)


def make_network(seed: int) -> nn.Module:
    opyard.manual_seed(seed)
    return nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10))


def loss_of(network: nn.Module) -> Callable:
    cross_entropy = nn.CrossEntropyLoss()

    def loss(images: opyard.Tensor, labels: opyard.Tensor) -> opyard.Tensor:
        return cross_entropy(network(images), labels)

    return loss


class Training:
    """A network with what trains it; `loss` is called once for each batch."""

    def __init__(self, seed: int, compiled: bool) -> None:
        self.network = make_network(seed)
        self.optimizer = optim.SGD(self.network.parameters(), lr=0.1, momentum=0.9)
        loss = loss_of(self.network)
        self.loss = jit.compile(loss) if compiled else loss
        self.seconds = float("inf")  # of the fastest loss and backward of an epoch

    def epoch(self, images: opyard.Tensor, labels: opyard.Tensor, order: np.ndarray) -> float:
        total = 0.0
        taken = 0.0
        for start in range(0, TRAIN - BATCH + 1, BATCH):
            batch = opyard.from_numpy(order[start : start + BATCH])
            x, y = images[batch], labels[batch]
            self.optimizer.zero_grad()
            began = time.perf_counter()
            loss = self.loss(x, y)
            loss.backward()
            taken += time.perf_counter() - began
            self.optimizer.step()
            total += loss.item()
        self.seconds = min(self.seconds, taken)
        return total / (TRAIN // BATCH)


def accuracy(network: nn.Module, images: np.ndarray, labels: np.ndarray) -> float:
    with opyard.autograd.no_grad():
        predicted = network(opyard.from_numpy(images)).argmax(1).numpy()
    return float((predicted == labels).mean())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--save", type=Path, help="where the trained network goes, as a model")
    options = parser.parse_args()

    digits, labels = load_digits(options.seed)
    images, wanted = opyard.from_numpy(digits[:TRAIN]), opyard.from_numpy(labels[:TRAIN])
    eager, staged = Training(options.seed, False), Training(options.seed, True)
    for epoch in range(options.epochs):
        order = np.random.default_rng((options.seed, epoch)).permutation(TRAIN)
        losses = [each.epoch(images, wanted, order) for each in (eager, staged)]
        assert losses[0] == losses[1]
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1:3} loss {losses[1]:.4f}")

    print(staged.loss.explain())
    (graph,) = staged.loss.graphs()
    assert graph.stage == 1  # the loss, and its gradients
    for one, other in zip(eager.network.parameters(), staged.network.parameters(), strict=True):
        assert one.detach().numpy().tobytes() == other.detach().numpy().tobytes()
    found = accuracy(staged.network, digits[TRAIN:], labels[TRAIN:])
    print(f"accuracy {found:.4f} on {len(digits) - TRAIN} images that were not trained on")
    print(f"loss and gradients: {eager.seconds / staged.seconds:.2f} times as fast as eager")

    if options.save is not None:
        # The weights are constants of the traced graph, and tensors in the file.
        with opyard.autograd.no_grad():
            traced = jit.trace(staged.network, opyard.from_numpy(digits[:1]))
        jit.save(traced.graph, options.save)
        print(f"saved: {options.save}")


if __name__ == "__main__":
    main()
