"""test/bench/jax_rows.py: published operators in JAX, over XLA's own arithmetic.

A program of its own, run by run.py with a Python that has JAX. Arrays have 8 floats: what is timed,
in processor time of the process, is the way of a compiled call. Prints one line of JSON: by row the
nanoseconds of ours, and of XLA's as the floor.
"""

import argparse
import json
import time
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp

import opyard.jax

published = opyard.jax.publish("aten::mul.Tensor")
multiply = published["mul.Tensor"]

# By row: the operator's call, and XLA's.
ROWS: dict[str, tuple[Callable[..., Any], Callable[..., Any]]] = {
    "publish_jax": (lambda x: multiply(x, x), lambda x: x * 2),
    "publish_jax_backward": (
        jax.grad(lambda x: multiply(x, x).sum()),
        jax.grad(lambda x: (x * x).sum()),
    ),
}


def least(calls: list[Callable[..., Any]], x: jax.Array, rounds: int) -> list[float]:
    """The least time of each call, measured in turns."""
    found = [float("inf")] * len(calls)
    for _ in range(rounds):
        for number, call in enumerate(calls):
            begin = time.process_time_ns()
            for _ in range(500):
                result = call(x)
            result.block_until_ready()
            found[number] = min(found[number], (time.process_time_ns() - begin) / 500)
    return found


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=60)
    options = parser.parse_args()
    opyard.set_num_threads(1)
    x = jnp.arange(8, dtype=jnp.float32)
    found = {}
    for row, pair in ROWS.items():
        calls = [jax.jit(each) for each in pair]
        for call in calls:
            call(x)
        ours, floor = least(calls, x, options.rounds)
        found[f"{row}/ours"], found[f"{row}/floor"] = ours, floor
    print(json.dumps(found))


if __name__ == "__main__":
    main()
