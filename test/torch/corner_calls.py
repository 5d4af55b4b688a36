"""corner_calls.py: calls for formula_corners.py, as made here and as made in PyTorch."""

import dataclasses
import fnmatch
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import torch
from operator_gradients import OURS, THEIRS, Calls, wants
from operator_samples import RANDOM, TIES, here
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils._pytree import tree_flatten, tree_unflatten

import opyard

sys.path += [str(Path(__file__).parents[1] / each) for each in ("python", "python/operators")]
import gradient_layouts
import test_formula_rows
import test_gradients_beside_pytorch as beside

# Operators that are pointwise, though PyTorch does not say so of them.
POINTWISE = {
    "aten::binary_cross_entropy",
    "aten::binary_cross_entropy_with_logits",
    "aten::huber_loss",
    "aten::kl_div",
    "aten::l1_loss",
    "aten::mse_loss",
    "aten::smooth_l1_loss",
}
MOST_ELEMENTS = 200


@dataclasses.dataclass
class Call:
    name: str
    ours: Callable  # of leaves
    theirs: Callable | None
    leaves: list[torch.Tensor]  # float64 or complex128, without a history
    is_pointwise: bool


def results_of(found, name):
    flat = tree_flatten(found)[0]
    return flat[:1] if name in TIES or "max_pool" in name else flat


def first_operator(fn, leaves):
    """The operator of a row: the first that a profile captures."""
    from opyard.profiler import profile

    with profile(with_stack=False) as prof:
        fn(*leaves)
    for event in prof.events():
        if event.kind == "Operator" and event.name.startswith(("aten::", "opyard::")):
            return event.name
    return "none"


def is_pointwise(name):
    packet = getattr(torch.ops.aten, name.removeprefix("aten::").partition(".")[0], None)
    if packet is None or not name.startswith("aten::"):
        return False
    if name in POINTWISE:
        return True
    return any(
        torch.Tag.pointwise in getattr(packet, overload).tags for overload in packet.overloads()
    )


def rows() -> Iterator[Call]:
    for fn, leaves in test_formula_rows.rows_of_all_files():
        name = first_operator(fn, leaves)
        ours_alone = beside.OURS_ALONE.intersection(beside.operators_of(fn))
        theirs = None if ours_alone else beside.function_of_theirs(fn)
        yield Call(
            name,
            fn,
            theirs,
            [beside.theirs_of(one.detach()) for one in leaves],
            is_pointwise(name) and all(one.numel() < 10 for one in leaves),
        )


def of_sample(func, given) -> Call | None:
    """A call as a sample of PyTorch makes it; None if it is not there."""
    overload = OURS.overload(func)
    flat, spec = tree_flatten(given)
    places = [i for i, value in enumerate(flat) if wants(value)]
    leaves = [flat[i] for i in places]
    if overload is None or not leaves or sum(one.numel() for one in leaves) > MOST_ELEMENTS:
        return None

    def made(library):
        def call(*now):
            try:
                values = [
                    value if i in places else library.take(value) for i, value in enumerate(flat)
                ]
            except KeyError as error:
                raise NotImplementedError(f"dtype {error}") from error
            for i, leaf in zip(places, now, strict=True):
                values[i] = leaf
            args, kwargs = tree_unflatten(values, spec)
            if library.module is opyard:
                kwargs = {k: v for k, v in kwargs.items() if v is not None or k != "layout"}
            return results_of(library.overload(func)(*args, **kwargs), func.name())

        return call

    return Call(func.name(), made(OURS), made(THEIRS), leaves, is_pointwise(func.name()))


def samples(most, only) -> Iterator[Call]:
    counts = {}
    for op in op_db:
        if torch.float64 not in op.supported_dtypes("cpu"):
            continue
        if only and not any(fnmatch.fnmatch(op.name.split(".")[-1], one) for one in only):
            continue
        try:
            found = list(op.sample_inputs("cpu", torch.float64))
        except Exception:
            continue
        for sample in found[: 4 * most]:
            calls = Calls()
            try:
                with calls:
                    op(sample.input, *sample.args, **sample.kwargs)
            except Exception:
                continue
            for func, given in calls.made:
                name = func.name()
                if only and not any(
                    fnmatch.fnmatch(name.removeprefix("aten::"), one) for one in only
                ):
                    continue
                if counts.get(name, 0) >= most or any(word in name for word in RANDOM):
                    continue
                call = of_sample(func, given)
                if call is not None:
                    counts[name] = counts.get(name, 0) + 1
                    yield call


def all_calls(most, only) -> Iterator[Call]:
    only = only.split(",") if only else None
    for call in rows():
        short = call.name.partition("::")[2]
        if only is None or any(fnmatch.fnmatch(short, one) for one in only):
            yield call
    if most:
        yield from samples(most, only)


def layouts(call) -> list[str]:
    try:
        leaves = [here(one.detach().contiguous()).requires_grad_() for one in call.leaves]
        found = gradient_layouts.differs(
            lambda *now: call.ours(*[one.clone() for one in now]), leaves
        )
    except (KeyError, NotImplementedError) as error:
        return [] if "no autograd formula" in str(error) or "dtype" in str(error) else [str(error)]
    except Exception as error:
        return [f"{type(error).__name__}: {error}"]
    return [
        f"{name}, gradient {at}: {str(a)[:60]}, in a row {str(b)[:60]}" for name, at, a, b in found
    ]
