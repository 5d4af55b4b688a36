"""test/bench/jax_rows.py: published operators in JAX, over XLA's own arithmetic.

A program of its own, for a Python that has JAX:

    PYTHONPATH=build/main/pyfallback build/venv-frameworks/bin/python test/bench/jax_rows.py

Arrays have 8 floats: what is timed, in processor time of the process, is the way of a compiled
call. Prints for each row its nanoseconds, those of XLA's, and the quotient.
"""

import argparse
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
    "a call": (lambda x: multiply(x, x), lambda x: x * 2),
    "forward and backward": (
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
    for row, pair in ROWS.items():
        calls = [jax.jit(each) for each in pair]
        for call in calls:
            call(x)
        ours, floor = least(calls, x, options.rounds)
        print(f"{row}: {ours:.0f} ns, XLA's {floor:.0f} ns, {ours / floor:.2f}")


if __name__ == "__main__":
    main()
