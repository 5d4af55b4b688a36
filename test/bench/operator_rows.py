"""test/bench/operator_rows.py: operators on many elements, over the better of PyTorch and NumPy.

A program of its own, run by run.py with a Python that has PyTorch. What is timed is the least of
some rounds in turn, on one thread and processor, as in model_rows.py. Chains are compared with the
same operators that write into buffers which are there already: what is left is the price of memory.
A row of two threads has as its floor what one thread takes; that of `add`, which waits for memory,
what two plain loops gain.
"""

import argparse
import json
import os
import threading
from collections.abc import Callable

import numpy as np
import torch
from model_rows import Work, least
from torch.nn import functional

import opyard

aten = opyard.ops.aten
MILLION = 1 << 20


def numbers(*sizes: int) -> np.ndarray:
    return np.random.default_rng(sum(sizes)).normal(size=sizes).astype(np.float32)


def of_softmax(x: np.ndarray) -> np.ndarray:
    raised = np.exp(x - x.max(-1, keepdims=True))
    return raised / raised.sum(-1, keepdims=True)


# By row: the inputs, and the operator here, in PyTorch and, if it has it, in NumPy.
FLOATS, MATRIX = numbers(MILLION), numbers(512, 512)
IMAGES, FILTERS = numbers(1, 64, 56, 56), numbers(64, 64, 3, 3)
CHANNELS = numbers(64), numbers(64), numbers(64)
Operator = Callable[..., object]
OPERATORS: dict[str, tuple[tuple[np.ndarray, ...], Operator, Operator, "Operator | None"]] = {
    "op_tanh": ((FLOATS,), aten.tanh.default, torch.tanh, np.tanh),
    "op_sin": ((FLOATS,), aten.sin.default, torch.sin, np.sin),
    "op_erf": ((FLOATS,), aten.erf.default, torch.erf, None),
    "op_exp": ((FLOATS,), aten.exp.default, torch.exp, np.exp),
    "op_sigmoid": (
        (FLOATS,),
        aten.sigmoid.default,
        torch.sigmoid,
        lambda x: 1 / (1 + np.exp(-x)),
    ),
    "op_sqrt": ((np.abs(FLOATS),), aten.sqrt.default, torch.sqrt, np.sqrt),
    "op_add": ((FLOATS, FLOATS[::-1].copy()), aten.add.Tensor, torch.add, np.add),
    "op_softmax": (
        (MATRIX,),
        lambda x: aten.softmax(x, -1),
        lambda x: torch.softmax(x, -1),
        of_softmax,
    ),
    "op_sum": (
        (MATRIX,),
        lambda x: aten.sum(x, [-1]),
        lambda x: x.sum(-1),
        lambda x: x.sum(-1),
    ),
    "op_mm": ((MATRIX, MATRIX.T.copy()), aten.mm.default, torch.mm, np.matmul),
    "op_conv2d": (
        (IMAGES, FILTERS),
        lambda x, w: aten.conv2d(x, w, None, [1, 1], [1, 1]),
        lambda x, w: torch.conv2d(x, w, None, 1, 1),
        None,
    ),
    "op_conv2d_strided": (
        (numbers(8, 32, 64, 64), numbers(64, 32, 3, 3)),
        lambda x, w: aten.conv2d(x, w, None, [2, 2], [1, 1]),
        lambda x, w: torch.conv2d(x, w, None, 2, 1),
        None,
    ),
    "op_depthwise": (
        (numbers(1, 128, 56, 56), numbers(128, 1, 3, 3)),
        lambda x, w: aten.conv2d(x, w, None, [1, 1], [1, 1], [1, 1], 128),
        lambda x, w: torch.conv2d(x, w, None, 1, 1, 1, 128),
        None,
    ),
    "op_batch_norm": (
        (numbers(8, 64, 32, 32), *CHANNELS, np.abs(CHANNELS[0])),
        lambda x, w, b, m, v: aten.batch_norm(x, w, b, m, v, False, 0.1, 1e-5, False),
        lambda x, w, b, m, v: functional.batch_norm(x, m, v, w, b),
        None,
    ),
    "op_layer_norm": (
        (numbers(512, 256), numbers(256), numbers(256)),
        lambda x, w, b: aten.layer_norm(x, [256], w, b),
        lambda x, w, b: functional.layer_norm(x, [256], w, b),
        None,
    ),
    "op_max_pool": (
        (numbers(8, 64, 56, 56),),
        lambda x: aten.max_pool2d(x, [3, 3], [2, 2], [1, 1]),
        lambda x: torch.max_pool2d(x, 3, 2, 1),
        None,
    ),
    "op_sort": ((FLOATS,), lambda x: aten.sort(x), torch.sort, None),
}


def of_operator(row: str, rounds: int) -> dict[str, float]:
    arrays, ours, theirs, numpys = OPERATORS[row]
    here, there = map(opyard.from_numpy, arrays), map(torch.from_numpy, arrays)
    given, others = tuple(here), tuple(there)
    work: Work = {"ours": lambda: ours(*given), "PyTorch": lambda: theirs(*others)}
    if numpys is not None:
        work["NumPy"] = lambda: numpys(*arrays)
    found = least(work, rounds)
    mine = found.pop("ours")
    return {f"{row}/ours": mine, f"{row}/floor": min(found.values())}


def of_chain(row: str, count: int, rounds: int) -> dict[str, float]:
    """Nine operators in a row, each on the result of the one before."""
    x, y = opyard.from_numpy(numbers(count)), opyard.from_numpy(numbers(count + 1)[1:])
    buffers = [opyard.zeros(count) for _ in range(2)]
    operators = [aten.add.Tensor, aten.mul.Tensor] * 4 + [aten.add.Tensor]
    forms = [aten.add.out, aten.mul.out] * 4 + [aten.add.out]

    def fresh() -> None:
        value = x
        for operator in operators:
            value = operator(value, y)

    def kept() -> None:
        value = x
        for place, form in enumerate(forms):
            value = form(value, y, out=buffers[place % 2])

    found = least({"ours": fresh, "floor": kept}, rounds)
    return {f"{row}/{side}": value for side, value in found.items()}


def with_threads(count: int, run: Callable[[], object]) -> Callable[[], object]:
    def work() -> object:
        opyard.set_num_threads(count)
        return run()

    return work


def of_two_threads(rounds: int) -> dict[str, float]:
    count = 4 * MILLION
    x, y = opyard.from_numpy(numbers(count)), opyard.from_numpy(numbers(count))
    m = opyard.from_numpy(numbers(1024, 1024))
    runs = {
        "tanh": lambda: aten.tanh.default(x),
        "mm": lambda: aten.mm.default(m, m),
        "add": lambda: aten.add.out(x, y, out=z),
    }
    z = opyard.zeros(count)
    work: Work = {}
    for name, run in runs.items():
        work[f"two_{name}/floor"] = with_threads(1, run)
        work[f"two_{name}/ours"] = with_threads(2, run)
    a, b, c = (each.numpy() for each in (x, y, z))
    begin, half = threading.Barrier(3), count // 2
    end = threading.Barrier(3)

    def second(part: slice) -> None:
        while True:
            begin.wait()
            np.add(a[part], b[part], out=c[part])
            end.wait()

    for part in (slice(0, half), slice(half, count)):
        threading.Thread(target=second, args=(part,), daemon=True).start()

    def plain() -> None:
        begin.wait()
        end.wait()

    work["plain/one"] = lambda: np.add(a, b, out=c)
    work["plain/two"] = plain
    found = least(work, rounds)
    plain_share = found.pop("plain/two") / found.pop("plain/one")
    found["two_add/floor"] *= plain_share
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=25)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    torch.set_num_threads(1)
    opyard.set_num_threads(1)
    processors = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {max(processors)})
    found: dict[str, float] = {}
    for row in OPERATORS:
        if options.only in row:
            found |= of_operator(row, options.rounds)
    for row, count in (("chain_64k", 1 << 16), ("chain_1m", MILLION)):
        if options.only in row:
            found |= of_chain(row, count, options.rounds)
    os.sched_setaffinity(0, processors)
    if options.only in "two_tanh two_mm two_add" and len(processors) > 1:
        found |= of_two_threads(options.rounds)
    print(json.dumps(found))


if __name__ == "__main__":
    main()
