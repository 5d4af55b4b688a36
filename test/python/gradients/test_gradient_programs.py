"""Protects gradients of programs with views and writes: they are PyTorch's, or both refuse.

It needs PyTorch, and is skipped without it. 2,000 programs as a rule, 20,000 by tools/test --long;
OPYARD_PROGRAMS says another number. Suspect autograd/src/tape/tape.cpp for writes and views, else
the formula of the operator.
"""

import math
import os

import gradient_programs as programs
import pytest
from processes import volume

import opyard

torch = pytest.importorskip("torch", reason="PyTorch is not installed")

COUNT = int(os.environ.get("OPYARD_PROGRAMS", volume(2000)))
STEP = 50


def torch_leaves(values):
    return [torch.tensor(v, dtype=torch.float64, requires_grad=True) for v in values]


def our_leaves(values):
    return [opyard.tensor(v, dtype=opyard.float64).requires_grad_() for v in values]


def same(a, b):
    if a is None or b is None:
        return a is b or not any(x for x in (a or b))  # no gradient is a gradient of zeros
    return len(a) == len(b) and all(
        math.isclose(x, y, rel_tol=1e-9, abs_tol=1e-9) or (math.isnan(x) and math.isnan(y))
        for x, y in zip(a, b, strict=True)
    )


def backward(loss):
    loss.backward()


def our_loss(program, values):
    """What finish() differentiates, as a number."""
    found = []
    programs.follow(
        program,
        our_leaves(values),
        opyard.ops.aten,
        opyard.autograd.no_grad,
        lambda loss: found.append(loss.item()),
    )
    return found[0] if found else 0.0


def moved(values, leaf, path, by):
    def at(value, rest):
        if not rest:
            return value + by
        return [at(v, rest[1:]) if i == rest[0] else v for i, v in enumerate(value)]

    return [at(v, path) if i == leaf else v for i, v in enumerate(values)]


def paths(value):
    if not isinstance(value, list):
        return [()]
    return [(i, *rest) for i, inner in enumerate(value) for rest in paths(inner)]


def differences(program, values, leaf, eps=1e-6):
    found = []
    for path in paths(values[leaf]):
        up, down = (our_loss(program, moved(values, leaf, path, by)) for by in (eps, -eps))
        found.append((up - down) / (2 * eps))
    return found


# Where we refuse more: docs/guides/gradients.md.
REFUSED_HERE = (
    "expanded tensor",
    "several of its elements are one place",
    "a view that was made under no_grad",
)


def check_where_theirs_are_nan(ours, theirs, found, about):
    """PyTorch multiplies zeros by infinity where no gradient flows here, as above a zero_()."""
    for a, b, by_differences in zip(ours, theirs, found, strict=True):
        if not math.isnan(b):
            assert same([a], [b]), about
        elif not math.isnan(by_differences):
            assert math.isclose(a, by_differences, rel_tol=1e-4, abs_tol=1e-5), about


def compare(seed):
    """How the two agreed: "same", "refused", or "checked" by differences of values."""
    values, program, theirs = programs.invent(
        seed, torch_leaves, torch.ops.aten, torch.no_grad, backward
    )
    ours = programs.follow(
        program, our_leaves(values), opyard.ops.aten, opyard.autograd.no_grad, backward
    )
    where = "\n".join(f"{i}: {one}" for i, one in enumerate(program))
    about = f"program {seed}\n{where}\nPyTorch: {theirs.error}\nours: {ours.error}"
    if ours.error is not None and any(text in str(ours.error) for text in REFUSED_HERE):
        return "refused"
    if "no_grad mode" in str(theirs.error):  # a view that was made without gradients is written
        return "refused"
    if theirs.refused == -1 and ours.refused is None and "modified by an" in str(theirs.error):
        # It saves what we do not.
        if all(one.is_smooth for one in program):
            for leaf, found in enumerate(ours.gradients):
                for a, b in zip(found or [], differences(program, values, leaf), strict=False):
                    if math.isnan(
                        b
                    ):  # of what is no number, such as 0 / 0, differences say nothing
                        continue
                    assert math.isclose(a, b, rel_tol=1e-4, abs_tol=1e-5), about
        return "checked"
    assert ours.refused == theirs.refused, about
    if theirs.refused is not None:
        return "refused"
    for a, b in zip(ours.values, theirs.values, strict=True):
        assert same(a, b), about
    about += f"\n{ours.gradients}\n{theirs.gradients}"
    for leaf, (a, b) in enumerate(zip(ours.gradients, theirs.gradients, strict=True)):
        if not same(a, b):
            assert a is not None, about
            check_where_theirs_are_nan(a, b, differences(program, values, leaf), about)
    return "same"


@pytest.mark.parametrize("begin", range(0, COUNT, STEP))
def test_G7_random_programs_have_the_gradients_of_pytorch(begin):
    outcomes = [compare(seed) for seed in range(begin, min(begin + STEP, COUNT))]
    assert outcomes.count("same") >= len(outcomes) / 5  # the others end at a write that is refused
