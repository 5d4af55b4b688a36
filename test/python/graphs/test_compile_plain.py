"""Functions that run as they are when they are compiled, since a graph would not do the same (H47).

Suspect opyard/_jit/compiled.py and surroundings.py.
"""

import random
import warnings

import numpy as np
import pytest
from leaves import leaf
from test_compile import compiled
from test_differentiate import bits

import opyard
from opyard import autograd, jit, nn

aten = opyard.ops.aten


def why_not(function, *args, calls=2):
    """What explain() says of a function that runs as it is, and what its last call gave."""
    made = jit.compile(function)
    with pytest.warns(jit.CompileWarning, match="runs as it is, since"):
        result = made(*args)
    for _ in range(calls - 1):
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # it is said once
            result = made(*args)
    assert not made.graphs()
    return made.explain(), result


# ---- what runs as it is


def test_H47_a_function_that_depends_on_values_runs_as_it_is():
    def function(x):
        return x if x.sum() > 0 else -x

    why, _ = why_not(lambda x: x * 2 if bool(x.sum() > 0) else -x, opyard.tensor([1.0]))
    assert "bool() of a tensor is read at" in why
    assert __file__ in why
    made = jit.compile(function)
    with pytest.warns(jit.CompileWarning):
        assert made(opyard.tensor([-1.0])).tolist() == [1]
    assert made(opyard.tensor([-2.0])).tolist() == [2]
    for read in (
        lambda x: x * x.sum().item(),
        lambda x: x * float(x.sum()),
        lambda x: x * x.exp().tolist()[0],
        lambda x: x * x.exp().numpy()[0],
        lambda x: x * len(repr(x * 1)),
        lambda x: x[aten.nonzero(x)],
        lambda x: x[x > 0] * 2,
        lambda x: x * opyard.tensor([random.random()]),
    ):
        why, _ = why_not(read, opyard.tensor([1.0]))


def test_H47_what_else_is_read_of_a_tensor_is_no_kind_of_calls():
    def with_grad(x):
        return x * 2 if x.grad is None else x.detach() - x.grad

    read = leaf([1.0, 2.0])
    made = jit.compile(with_grad)
    with pytest.warns(jit.CompileWarning, match=r"grad of a tensor is read at"):
        assert made(read).tolist() == [2, 4]
    for gradient in ([1.0, 1.0], [5.0, 5.0]):
        read.grad = opyard.tensor(gradient, dtype=read.dtype)
        assert made(read).tolist() == with_grad(read).tolist()
    for name in ("is_leaf", "grad_fn", "retains_grad", "output_nr", "_version"):
        why, _ = why_not(lambda x, name=name: x * 2 if getattr(x, name) else -x, leaf([1.0]))
        assert f"{name} of a tensor is read at" in why, name
    for name in ("data_ptr", "storage_offset"):
        why, _ = why_not(lambda x, name=name: x * (getattr(x, name)() % 7), opyard.tensor([1.0]))
        assert f"{name}() of a tensor is read at" in why


def test_H47_what_a_user_noted_at_a_tensor_belongs_to_it():
    made = compiled(lambda x: x * x.factor + x.shift)
    results = []
    for factor, shift in ((2.0, 1.0), (3.0, 1.0), (2.0, 5.0), (2.0, 1.0)):
        x = opyard.tensor([1.0, 2.0])
        x.factor, x.shift = factor, opyard.tensor([shift, shift])
        results.append(made(x).tolist())
    assert results == [[3, 5], [4, 7], [7, 9], [3, 5]]
    assert len(made.made.graphs()) == 2
    x = opyard.tensor([1.0, 2.0])
    x.factor, x.shift = 2.0, x  # itself
    assert made(x).tolist() == [3, 6]


def test_sizes_may_be_read():
    made = compiled(lambda x: x.sum() / (x.shape[0] * len(x) + x.numel()))
    for _ in range(2):
        assert made(opyard.tensor([1.0, 2.0])).item() == 3 / 6
        assert made(opyard.tensor([1.0, 2.0, 3.0])).item() == 6 / 12


def test_a_function_that_returns_what_it_was_given_runs_as_it_is():
    x = opyard.tensor([1.0, 2.0])
    why, found = why_not(lambda x: x, x)
    assert found is x
    assert "returns a tensor that it was given" in why
    why, found = why_not(lambda x: (x * 2, [x]), x)
    assert found[1][0] is x
    why, found = why_not(lambda x: (lambda y: (y, y))(x * 2), x)
    assert found[0] is found[1]
    assert "one tensor twice" in why
    w = leaf([[1.0, 2.0]])
    why, found = why_not(lambda w: w.t(), w)
    assert "returns a view" in why
    found.sum().backward()
    assert w.grad.tolist() == [[1, 1]]
    why, found = why_not(lambda x: {"a": (x * 2).numpy()}, x)
    why, found = why_not(lambda x: object, x)
    assert "the result is of type type" in why


def test_a_function_that_writes_runs_as_it_is_and_once_a_call():
    x = opyard.tensor([1.0, 2.0])
    why, _ = why_not(lambda x: x.mul_(2) + 1, x)
    assert x.tolist() == [4, 8]
    assert "writes into a tensor" in why
    seen = []
    why, _ = why_not(lambda x: (seen.append(1), x * 2)[1], x)
    assert seen == [1, 1]
    assert "changes something" in why
    bag = {"n": 0}

    def counts(x):
        bag["n"] += 1
        return x * bag["n"]

    made = jit.compile(counts)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        assert [made(x).tolist()[0] for _ in range(3)] == [4, 8, 12]
    norm = nn.BatchNorm2d(1)
    why, _ = why_not(norm, opyard.tensor([[[[1.0, 2.0], [3.0, 4.0]]]]))
    assert norm.num_batches_tracked.item() == 2
    why, _ = why_not(lambda w: (w * 2).mul_(3), leaf([1.0]))
    assert "in place" in why


def test_a_write_into_its_own_tensor_is_a_graph_without_gradients():
    made = compiled(lambda x: (x * 2).add_(1))
    for _ in range(2):
        assert made(opyard.tensor([1.0])).tolist() == [3]


COUNT = 0


def test_a_function_that_changes_globals_prints_or_asks_the_clock_runs_as_it_is(capsys):
    def counts(x):
        global COUNT
        COUNT += 1
        return x * 2

    why, _ = why_not(counts, opyard.tensor([1.0]))
    assert COUNT == 2
    assert "counts() assigns the global name COUNT" in why

    def prints(x):
        print("here")
        return x * 2

    why, _ = why_not(prints, opyard.tensor([1.0]))
    assert "prints() calls print()" in why
    assert capsys.readouterr().out == "here\nhere\n"
    why, _ = why_not(lambda x: prints(x), opyard.tensor([1.0]))
    why, _ = why_not(lambda x: x * random.random(), opyard.tensor([1.0]))
    assert "uses the module random" in why
    total = 0

    def adds(x):
        nonlocal total
        total += 1
        return x * 2

    why, _ = why_not(adds, opyard.tensor([1.0]))
    assert total == 2
    why, _ = why_not(lambda w: (w * 2).sum().backward(), leaf([1.0]))
    assert "calls backward()" in why


def test_a_function_that_draws_random_numbers_runs_as_it_is():
    x = opyard.tensor([1.0] * 8)
    why, _ = why_not(lambda x: x + aten.rand_like(x), x)
    assert "aten::rand_like gives random numbers" in why
    drop = nn.Dropout(0.5)
    made = jit.compile(drop)
    with pytest.warns(jit.CompileWarning, match="random numbers"):
        made(x)
    opyard.manual_seed(3)
    first = [bits(made(x)), bits(made(x))]
    opyard.manual_seed(3)
    assert first == [bits(drop(x)), bits(drop(x))]
    assert first[0] != first[1]


def test_modes_of_gradients_inside_of_a_function_are_respected():
    def function(x):
        with autograd.no_grad():
            held = x * 2
        return held * x

    why, y = why_not(function, leaf([3.0]))
    assert "gradients are disabled" in why
    x = leaf([3.0])
    made = jit.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        made(x)
    made(x).sum().backward()
    assert x.grad.tolist() == [6]
    detached = compiled(lambda x: (x * 2).detach() * x)
    detached(x)
    x.grad = None
    detached(x).sum().backward()
    assert x.grad.tolist() == [6]


def test_tensors_of_other_libraries_and_classes_run_as_they_are():
    why, found = why_not(lambda x: x * 2, np.array([1.0]))
    assert type(found) is np.ndarray
    assert "argument 0 is of type numpy.ndarray" in why

    class Mine(opyard.Tensor):
        pass

    mine = opyard.Tensor.make_subclass(Mine, opyard.tensor([1.0]))
    why, _ = why_not(lambda x: x * 2, mine)
    assert "which may have operators of its own" in why


def test_an_operator_without_a_derivative_runs_as_it_is(library):
    library.define("cube(Tensor x) -> Tensor")
    library.impl("cube", lambda x: x * x * x, "CPU")
    cube = getattr(getattr(opyard.ops, library.ns), "cube")  # noqa: B009

    why, _ = why_not(lambda x: cube(x) * 2, leaf([3.0]))
    assert "cube" in why
    library.derivative("cube", {"x": "grad * 3 * x * x"})
    made = compiled(lambda x: cube(x) * 2)
    x = leaf([2.0])
    made(x)
    made(x).sum().backward()
    assert x.grad.tolist() == [24]


def test_errors_of_the_function_are_its_own():
    def fails(x, wrong):
        if wrong:
            raise KeyError("mine")
        return x * 2

    made = jit.compile(fails)
    x = opyard.tensor([1.0])
    for _ in range(2):
        with pytest.raises(KeyError, match="mine"):
            made(x, True)
    assert made(x, False).tolist() == [2]
    assert len(made.explain().splitlines()) == 2
    for wrong in (3, int, "text"):
        with pytest.raises(TypeError, match="compile\\(\\) takes a Graph, a function or a Module"):
            jit.compile(wrong)


def test_a_compiled_function_in_a_trace_is_its_function():
    inner = compiled(lambda x: x * 2)
    outer = compiled(lambda x: inner.made(x) + 1)
    x = opyard.tensor([1.0])
    inner(x)
    for _ in range(2):
        assert outer(x).tolist() == [3]
    assert "aten::mul" in str(outer.made.graphs()[0])
    assert jit.trace(inner.made, x)(x).tolist() == [2]


def test_a_mode_around_a_call_is_asked():
    from opyard.dispatch import DispatchMode

    seen = []

    class Watch(DispatchMode):
        def __opyard_dispatch__(self, op, types, args, kwargs):
            seen.append(str(op))
            return op(*args, **kwargs)

    made = jit.compile(lambda x: aten.softmax(x * 2, 0))
    x = opyard.tensor([1.0])
    made(x)
    with Watch(), warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.CompileWarning)
        made(x)
    assert len(seen) >= 2
    assert "in a mode" in made.explain()
