"""G10: checkpoint(), whose saved tensors are computed again in the backward, of both kinds.

Suspect autograd/python/opyard/_autograd/checkpoint.py; if test_saved_tensor_hooks.py fails, too,
what that names.
"""

import contextlib
import gc

import pytest
from leaves import leaf

import opyard
from opyard import autograd, nn
from opyard.autograd import checkpoint, checkpoint_sequential, graph

aten = opyard.ops.aten
KINDS = pytest.mark.parametrize("use_reentrant", [False, True])


class Counted:
    """A function, and how often it was called."""

    def __init__(self, function):
        self.function, self.calls = function, 0

    def __call__(self, *args, **kwargs):
        self.calls += 1
        return self.function(*args, **kwargs)


def wave(x, w):
    return (x @ w).sin().exp().mul(x.sum())


def leaves():
    return leaf([[0.5, -1.0], [2.0, 0.25]]), leaf([[1.0, 2.0], [-0.5, 0.75]])


@KINDS
def test_G10_gradients_are_those_without_a_checkpoint(use_reentrant):
    x, w = leaves()
    wave(x, w).sum().backward()
    y, v = leaves()
    counted = Counted(wave)
    out = checkpoint(counted, y, v, use_reentrant=use_reentrant)
    assert out.tolist() == wave(x, w).tolist()
    assert counted.calls == 1
    (out * 1).sum().backward()
    assert counted.calls == 2
    assert (y.grad.tolist(), v.grad.tolist()) == (x.grad.tolist(), w.grad.tolist())


def test_G10_nothing_is_kept_but_the_arguments():
    def sizes_kept(run):
        kept = []
        x = leaf([[0.5] * 10] * 10)
        with graph.saved_tensors_hooks(lambda t: kept.append(t.numel()) or t, lambda t: t):
            y = run(x)
        y.sum().backward()
        return sum(kept), x.grad.tolist()

    def deep(x):
        for _ in range(8):
            x = x.sin()
        return x

    plain, expected = sizes_kept(deep)
    kept, found = sizes_kept(lambda x: checkpoint(deep, x))
    assert found == expected
    assert (plain, kept) == (800, 100)


@KINDS
def test_G10_random_numbers_are_the_same_again(use_reentrant):
    def drop(x):
        return aten.dropout(x, 0.5, True) * x

    x = leaf([1.0] * 64)
    opyard.manual_seed(3)
    y = checkpoint(drop, x, use_reentrant=use_reentrant)
    after = opyard.rand(3).tolist()
    y.sum().backward()
    assert x.grad.tolist() == (2 * y).tolist()
    opyard.manual_seed(3)
    drop(x)
    assert opyard.rand(3).tolist() == after
    first = opyard.rand(2).tolist()
    y = checkpoint(drop, x, use_reentrant=use_reentrant, preserve_rng_state=False)
    x.grad = None
    y.sum().backward()
    assert x.grad.tolist() != (2 * y).tolist()
    assert first != opyard.rand(2).tolist()


@KINDS
def test_G10_autocast_is_the_same_again(use_reentrant, ns):
    seen = []
    with opyard.library.Library(ns, "DEF") as lib:
        lib.define("look(Tensor x) -> Tensor")
        lib.impl("look", lambda x: seen.append(x.dtype) or x * 2, "CPU")
        lib.derivative("look", {"x": "grad * x"})
        look = getattr(opyard.ops, ns).look
        opyard.library.register_autocast(f"{ns}::look", "cpu", opyard.bfloat16, lib=lib)
        x = opyard.ones(2, requires_grad=True)
        with opyard.autocast("cpu"):
            y = checkpoint(lambda x: look(x), x, use_reentrant=use_reentrant)
        y.sum().backward()
    assert seen == [opyard.bfloat16, opyard.bfloat16]


def test_G10_checkpoints_are_inside_of_checkpoints():
    inner, outer = Counted(lambda x: x.sin().exp()), None

    def around(x):
        return checkpoint(inner, x.cos()).tanh()

    outer = Counted(around)
    x, plain = leaf([0.5, 1.5]), leaf([0.5, 1.5])
    plain.cos().sin().exp().tanh().exp().sum().backward()
    checkpoint(outer, x).exp().sum().backward()
    assert x.grad.tolist() == plain.grad.tolist()
    assert (outer.calls, inner.calls) == (2, 3)


def test_G10_a_checkpoint_takes_any_arguments():
    def mixed(pair, scale, *, weights):
        return pair[0] * pair[1] * scale * weights["w"]

    x, y, w = leaf([2.0]), leaf([3.0]), leaf([5.0])
    out = checkpoint(mixed, (x, y), 2.0, weights={"w": w})
    out.backward()
    assert [one.grad.tolist() for one in (x, y, w)] == [[30.0], [20.0], [12.0]]


def test_G10_a_checkpoint_works_with_grad_and_twice():
    x = leaf([0.5, 2.0])
    y = checkpoint(lambda x: x.exp() * x.sin(), x)
    (first,) = autograd.grad(y.sum(), x, retain_graph=True)
    (again,) = autograd.grad(y.sum(), x, retain_graph=True)
    assert first.tolist() == again.tolist()
    y.sum().backward()
    assert x.grad.tolist() == first.tolist()
    with pytest.raises(RuntimeError, match="second time"):
        y.sum().backward()


def test_G10_gradients_of_gradients_go_through_a_checkpoint():
    def second(run):
        x = leaf([0.5, 2.0])
        y = run(lambda x: x.exp() * x.sin(), x)
        (first,) = autograd.grad(y.sum(), x, create_graph=True)
        return autograd.grad(first.sum(), x)[0].tolist()

    assert second(checkpoint) == pytest.approx(second(lambda f, x: f(x)), rel=1e-12)


def test_G10_early_stop_runs_no_more_than_is_wanted():
    steps = []

    def steps_of(x):
        y = x.exp()
        steps.append("after exp")
        z = y * 2
        steps.append("after mul")
        return z

    x = leaf([1.0])
    checkpoint(steps_of, x).backward()
    assert steps == ["after exp", "after mul"]
    steps.clear()
    checkpoint(steps_of, x, early_stop=False).backward()
    assert steps == ["after exp", "after mul"] * 2


def test_G10_what_saves_other_tensors_the_second_time_is_found():
    calls = []

    def fewer(x):
        calls.append(0)
        y = x.exp()
        return y.exp() if len(calls) % 2 else y

    x = leaf([1.0])
    y = checkpoint(fewer, x)
    with pytest.raises(autograd.CheckpointError, match="different number of tensors was saved"):
        y.backward()

    def smaller(x):
        calls.append(0)
        return (x.exp() if len(calls) % 2 else x[:1].exp()).sum()

    x = leaf([1.0, 2.0])
    calls.clear()
    y = checkpoint(smaller, x)
    with pytest.raises(autograd.CheckpointError, match=r"tensor 0 was \[2\] .* and is \[1\]"):
        y.backward()
    calls.clear()
    y = checkpoint(smaller, x, determinism_check="none")
    y.backward()
    assert x.grad.tolist() == pytest.approx([2.718281828459045] * 2)


def test_G10_contexts_are_for_the_forward_and_for_what_is_computed_again():
    log = []

    @contextlib.contextmanager
    def noted(name):
        log.append(name)
        yield

    def contexts():
        return noted("forward"), noted("again")

    x = leaf([1.0])
    y = checkpoint(lambda x: x.exp(), x, context_fn=contexts)
    assert log == ["forward"]
    y.backward()
    assert log == ["forward", "again"]


def test_G10_a_context_sees_the_function_and_not_how_its_arguments_are_kept():
    class Operators(opyard.dispatch.DispatchMode):
        def __init__(self):
            super().__init__()
            self.names = []

        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            self.names.append(op.name())
            return op(*args, **kwargs or {})

    first, again = Operators(), Operators()
    x = leaf([1.0])
    y = checkpoint(lambda x: x.exp(), x, context_fn=lambda: (first, again))
    y.backward()
    assert first.names == ["aten::exp"]
    assert again.names[0] == "aten::exp"


def test_G10_options_that_do_not_go_together_are_refused():
    x = leaf([1.0])
    with pytest.raises(ValueError, match="Unexpected keyword arguments: scale"):
        checkpoint(lambda x, scale: x, x, use_reentrant=True, scale=1)
    with pytest.raises(ValueError, match="context_fn goes with use_reentrant=False"):
        checkpoint(abs, x, use_reentrant=True, context_fn=lambda: ())
    with pytest.raises(ValueError, match="determinism_check must be"):
        checkpoint(abs, x, determinism_check="never")
    with pytest.raises(NotImplementedError, match="debug=True"):
        checkpoint(abs, x, debug=True)
    with pytest.raises(TypeError, match="a function is wanted first"):
        checkpoint(x, abs)
    y = checkpoint(lambda x: x.exp(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match=r"incompatible with \.grad\(\)"):
        autograd.grad(y, x)
    y = checkpoint(lambda x: x.detach(), x, use_reentrant=True)
    with pytest.raises(RuntimeError, match="none of output has requires_grad=True"):
        y.backward()


@KINDS
def test_G10_without_gradients_a_checkpoint_is_a_call(use_reentrant):
    with autograd.no_grad():
        y = checkpoint(lambda x: x.exp(), leaf([1.0]), use_reentrant=use_reentrant)
    assert not y.requires_grad
    y = checkpoint(lambda x: x * 2, opyard.ones(2), use_reentrant=use_reentrant)
    assert not y.requires_grad and y.tolist() == [2.0, 2.0]


@KINDS
def test_G10_a_sequential_is_a_checkpoint_of_each_segment(use_reentrant):
    opyard.manual_seed(1)
    layers = nn.Sequential(*(nn.Sequential(nn.Linear(4, 4), nn.Tanh()) for _ in range(5)))
    x = opyard.randn(3, 4)

    def gradients(run):
        layers.zero_grad()
        inputs = x.clone().requires_grad_()
        run(inputs).sum().backward()
        return inputs.grad.tolist(), [one.grad.tolist() for one in layers.parameters()]

    expected = gradients(layers)
    for segments in (1, 2, 5):
        found = gradients(
            lambda x, n=segments: checkpoint_sequential(layers, n, x, use_reentrant=use_reentrant)
        )
        assert found == expected
    with pytest.raises(ValueError, match="accepted are 1 to 5"):
        checkpoint_sequential(layers, 6, x)


@KINDS
def test_G10_a_transformer_trains_with_checkpoints_as_without(use_reentrant):
    def train(run):
        opyard.manual_seed(5)
        layers = nn.ModuleList(
            nn.TransformerEncoderLayer(8, 2, 16, dropout=0.1, batch_first=True) for _ in range(3)
        )
        head = nn.Linear(8, 4)
        parameters = [*layers.parameters(), *head.parameters()]
        optimizer = opyard.optim.AdamW(parameters, lr=1e-2)
        losses = []
        for _ in range(4):
            x = opyard.randn(2, 5, 8)
            x.requires_grad_()  # else the first checkpoint that is reentrant has no gradient
            y = x
            for layer in layers:
                y = run(layer, y)
            loss = nn.CrossEntropyLoss()(head(y).reshape([10, 4]), opyard.arange(10) % 4)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        return losses

    expected = train(lambda layer, y: layer(y))
    assert expected[-1] != expected[0]
    assert train(lambda layer, y: checkpoint(layer, y, use_reentrant=use_reentrant)) == expected


def test_G10_what_was_computed_again_is_freed_with_the_run():
    import weakref

    seen = []

    def noted(x):
        y = x.exp()
        seen.append(weakref.ref(y))
        return y * y

    x, w = leaf([1.0]), leaf([1.0])
    out = checkpoint(lambda x, w: noted(x) + noted(w), x, w)
    (gradient,) = autograd.grad(out, w, retain_graph=True)
    gc.collect()
    assert [ref() for ref in seen] == [None] * len(seen)
    assert gradient.tolist() == pytest.approx([2 * 2.718281828459045**2])
