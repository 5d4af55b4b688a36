"""test/bench/publish_rows.py: published operators in PyTorch, over the same ones written by hand.

A program of its own, run by run.py with a Python that has PyTorch. By hand means torch.library's
define, impl, register_fake and register_autograd, and the same arithmetic in PyTorch's operators.
Tensors have 8 floats: what is timed, in processor time of the thread, is the way of a call. Each
row is of an elementwise operator, a reduction and one with two results; the row that has a budget
is the median of the three.
"""

import argparse
import json
import os
import time
from collections.abc import Callable
from typing import Any

import torch
from model_rows import Work, least

import opyard.torch

ours = opyard.torch.publish(["aten::silu", "aten::sum.dim_IntList", "aten::sort"], to="bench_ours")
library = torch.library.Library("bench_hand", "DEF")


def by_hand(
    schema: str, kernel: Callable[..., Any], fake: Callable[..., Any], *autograd: Callable[..., Any]
) -> Any:
    name = schema.partition("(")[0]
    library.define(schema)
    library.impl(name, kernel, "CPU")
    torch.library.register_fake(f"bench_hand::{name}", fake, lib=library)
    setup_context, backward = autograd
    torch.library.register_autograd(
        f"bench_hand::{name}", backward, setup_context=setup_context, lib=library
    )
    return getattr(torch.ops.bench_hand, name).default


def save_input(ctx: Any, inputs: tuple, output: Any) -> None:
    ctx.save_for_backward(inputs[0])


def silu_backward(ctx: Any, gradient: torch.Tensor) -> torch.Tensor:
    (x,) = ctx.saved_tensors
    sigmoid = torch.sigmoid(x)
    return gradient * sigmoid * (1 + x * (1 - sigmoid))


def save_sizes(ctx: Any, inputs: tuple, output: Any) -> None:
    ctx.sizes, ctx.dim = inputs[0].shape, inputs[1][0]


def sum_backward(ctx: Any, gradient: torch.Tensor) -> tuple:
    return gradient.unsqueeze(ctx.dim).expand(ctx.sizes), None


def save_places(ctx: Any, inputs: tuple, output: Any) -> None:
    ctx.save_for_backward(output[1])
    ctx.mark_non_differentiable(output[1])
    ctx.dim = inputs[1]


def sort_backward(ctx: Any, gradient: torch.Tensor, _: Any) -> tuple:
    (places,) = ctx.saved_tensors
    return torch.zeros_like(gradient).scatter(ctx.dim, places, gradient), None


# By row: the published operator, the one by hand, and what both are given beside a tensor.
OPERATORS: dict[str, tuple[Any, Any, tuple]] = {
    "silu": (
        ours["silu"],
        by_hand(
            "silu(Tensor x) -> Tensor",
            lambda x: x * torch.sigmoid(x),
            torch.empty_like,
            save_input,
            silu_backward,
        ),
        (),
    ),
    "sum": (
        ours["sum.dim_IntList"],
        by_hand(
            "sum(Tensor x, int[] dim) -> Tensor",
            torch.sum,
            lambda x, dim: x.new_empty(x.shape[:-1]),
            save_sizes,
            sum_backward,
        ),
        ([-1],),
    ),
    "sort": (
        ours["sort"],
        by_hand(
            "sort(Tensor x, int dim) -> (Tensor, Tensor)",
            lambda x, dim: tuple(torch.sort(x, dim)),
            lambda x, dim: (torch.empty_like(x), torch.empty_like(x, dtype=torch.int64)),
            save_places,
            sort_backward,
        ),
        (-1,),
    ),
}


def first(result: Any) -> torch.Tensor:
    return result if isinstance(result, torch.Tensor) else result[0]


def of_operator(name: str, rounds: int) -> dict[str, float]:
    published, hand, others = OPERATORS[name]
    x, leaf = torch.randn(2, 4), torch.randn(2, 4, requires_grad=True)
    whole = torch.ones_like(first(hand(x, *others)))
    torch.testing.assert_close(first(published(x, *others)), first(hand(x, *others)))

    def gradient(call: Any) -> torch.Tensor:
        return torch.autograd.grad(first(call(leaf, *others)), leaf, whole)[0]

    torch.testing.assert_close(gradient(published), gradient(hand))
    work: Work = {}
    for side, call in (("ours", published), ("floor", hand)):
        work[f"forward/{side}"] = lambda call=call: call(x, *others)
        work[f"taped/{side}"] = lambda call=call: call(leaf, *others)
        work[f"backward/{side}"] = lambda call=call: gradient(call)
    taken = least(work, rounds, clock=time.thread_time_ns)
    return {f"publish_{key}": value for key, value in taken.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=35)
    options = parser.parse_args()
    torch.set_num_threads(1)
    opyard.set_num_threads(1)
    os.sched_setaffinity(0, {max(os.sched_getaffinity(0))})
    found: dict[str, float] = {}
    by_row: dict[str, list[tuple[float, float]]] = {}
    for name in OPERATORS:
        figures = of_operator(name, options.rounds)
        for row in ("publish_forward", "publish_taped", "publish_backward"):
            pair = figures[f"{row}/ours"], figures[f"{row}/floor"]
            by_row.setdefault(row, []).append(pair)
            found[f"{row}_{name}/ours"], found[f"{row}_{name}/floor"] = pair
    for row, pairs in by_row.items():
        middle = sorted(pairs, key=lambda pair: pair[0] / pair[1])[len(pairs) // 2]
        found[f"{row}/ours"], found[f"{row}/floor"] = middle
    print(json.dumps(found))


if __name__ == "__main__":
    main()
