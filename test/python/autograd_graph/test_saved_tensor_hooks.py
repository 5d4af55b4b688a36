"""G10: hooks that pack and unpack saved tensors, as with blocks and on one saved tensor.

Suspect autograd/src/tape/saved_hooks.cpp, saved_tensor.cpp, tape_call_and_pack() of tape.cpp;
in Python autograd/python/gradients/saved.cpp and opyard/_autograd/saved.py.
"""

import gc
import threading
import weakref

import pytest
from leaves import leaf

import opyard
from opyard import autograd
from opyard.autograd import graph

aten = opyard.ops.aten
same = graph.saved_tensors_hooks(lambda tensor: tensor, lambda tensor: tensor)


class Store:
    """Hooks that keep tensors under a number each."""

    def __init__(self):
        self.kept, self.unpacked = {}, []

    def pack(self, tensor):
        number = len(self.kept)
        self.kept[number] = tensor.tolist(), tensor.dtype
        return number

    def unpack(self, number):
        self.unpacked.append(number)
        values, dtype = self.kept[number]
        return opyard.tensor(values, dtype=dtype)

    def block(self):
        return graph.saved_tensors_hooks(self.pack, self.unpack)


class Cube(autograd.Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x, x * x)
        return x * x * x

    @staticmethod
    def backward(ctx, gradient):
        x, square = ctx.saved_tensors
        return gradient * square * 3 + 0 * x


CALLS = {
    "an argument twice": lambda x: x * x,
    "a result": lambda x: x.exp(),
    "results that have a history": lambda x: (x * 2).exp() * x.sin(),
    "a list": lambda x: aten.cat([x.exp(), x * x]).pow(2),
    "a write": lambda x: (x * 1).mul_(x).exp_(),
    "a write through a view": lambda x: _write_part(x),
    "a matrix product": lambda x: x.reshape([2, 2]) @ x.reshape([2, 2]).tanh(),
    "a function in Python": lambda x: Cube.apply(x * 2),
    "indices": lambda x: aten.gather(x.exp(), 0, opyard.tensor([1, 1, 0])) * 2,
    "nothing saved": lambda x: (x + 1).sum(),
    "several results": lambda x: aten.max.dim(x.reshape([2, 2]) * 3, 0)[0].log(),
}


def _write_part(x):
    buffer = (x * 2).exp() + 1
    buffer[1:3].mul_(x[:2])
    return buffer.sin()


@pytest.mark.parametrize("name", CALLS)
def test_G10_what_was_packed_gives_the_gradients_of_what_was_saved(name):
    values = [0.5, 1.25, -0.75, 2.0]
    plain = leaf(values)
    CALLS[name](plain).sum().backward()
    x, store = leaf(values), Store()
    with store.block():
        y = CALLS[name](x).sum()
    packed = len(store.kept)
    assert bool(packed) == (name != "nothing saved")
    y.backward()
    assert x.grad.tolist() == plain.grad.tolist()
    assert len(store.kept) == packed and len(store.unpacked) >= packed - 1


@pytest.mark.parametrize("name", set(CALLS) - {"nothing saved"})
def test_G10_gradients_of_gradients_go_on_from_what_is_unpacked(name):
    values = [0.5, 1.25, -0.75, 2.0]

    def twice(x, run):
        with run:
            y = CALLS[name](x).sum()
        (first,) = autograd.grad(y, x, create_graph=True)
        return autograd.grad((first * first).sum(), x, allow_unused=True)[0]

    expected = twice(leaf(values), autograd.enable_grad())
    found = twice(leaf(values), Store().block())
    assert (found is None) == (expected is None)
    if expected is not None:
        assert found.tolist() == pytest.approx(expected.tolist(), rel=1e-12)


def test_G10_hooks_see_what_is_saved_call_by_call():
    seen = []
    x, y = leaf([2.0, 3.0]), leaf([5.0, 7.0])
    with graph.saved_tensors_hooks(lambda t: seen.append(t.tolist()) or t, lambda t: t):
        z = (x * y).exp()
    assert sorted(seen[:2]) == [[2.0, 3.0], [5.0, 7.0]]
    assert seen[2:] == [z.tolist()]


def test_G10_a_pack_hook_gets_a_leaf_itself_and_others_without_a_history():
    seen = []
    x = leaf([2.0])
    with graph.saved_tensors_hooks(lambda t: seen.append(t) or t, lambda t: t):
        (x * 2).exp().exp()
        x.exp()  # saves its result
        x.sin()  # saves its argument
    assert seen[-1] is x
    assert not any(one.requires_grad for one in seen[:-1])


def test_G10_of_nested_blocks_the_innermost_packs():
    outer, inner = Store(), Store()
    x = leaf([2.0])
    with outer.block():
        a = x.exp()
        with inner.block():
            b = a.exp()
        c = b.exp()
    assert (len(outer.kept), len(inner.kept)) == (2, 1)
    c.backward()
    assert (len(outer.unpacked), len(inner.unpacked)) == (2, 1)


def test_G10_the_hooks_of_a_block_end_with_it():
    store = Store()
    x = leaf([2.0])
    with pytest.raises(KeyError), store.block():
        raise KeyError
    x.exp()
    assert store.kept == {}
    packs = store.block()
    for _ in range(2):
        with packs:
            x.exp()
    assert len(store.kept) == 2

    @store.block()
    def decorated(x):
        return x.exp()

    decorated(x)
    assert len(store.kept) == 3


def test_G10_a_block_is_of_its_thread():
    store, seen = Store(), []
    x = leaf([2.0])
    with store.block():
        thread = threading.Thread(target=lambda: seen.append(x.exp()))
        thread.start()
        thread.join()
    assert store.kept == {}
    seen[0].backward()
    assert x.grad.tolist() == [pytest.approx(7.38905609893065)]


def test_G10_values_that_hooks_change_are_used_as_they_are():
    x = leaf([3.0])
    with graph.saved_tensors_hooks(lambda t: t * 2, lambda t: t):
        y = x * x
    assert y.grad_fn._saved_self.tolist() == [6.0]
    y.backward()
    assert x.grad.tolist() == [12.0]


def test_G10_what_needs_no_gradient_is_not_packed():
    store = Store()
    with store.block(), autograd.no_grad():
        leaf([2.0]).exp()
    with store.block():
        opyard.tensor([2.0]).exp()
        leaf([2.0]) * 3
    assert store.kept == {}


def test_G10_what_was_unpacked_is_not_looked_at_for_writes():
    x = leaf([2.0])
    y = x * 1
    with graph.saved_tensors_hooks(lambda t: t.clone(), lambda t: t):
        z = y * y
    y.mul_(3)
    z.sum().backward()
    assert x.grad.tolist() == [4.0]


def test_G10_a_pack_hook_must_not_write():
    x = leaf([2.0])
    block = graph.saved_tensors_hooks(lambda t: t.add_(1), lambda t: t)
    with block, pytest.raises(RuntimeError, match="pack hook is modifying its input in place"):
        (x * 1).exp()


def test_G10_errors_of_hooks_are_raised():
    x = leaf([2.0])
    with graph.saved_tensors_hooks(lambda t: 1 / 0, lambda t: t), pytest.raises(ZeroDivisionError):
        x.exp()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 1 / 0):
        y = x.exp()
    with pytest.raises(ZeroDivisionError):
        y.backward()
    with graph.saved_tensors_hooks(lambda t: t, lambda t: 3):
        y = x.exp()
    with pytest.raises(TypeError, match="unpack_hook expected to be a Tensor but got .* type int"):
        y.backward()
    with pytest.raises(TypeError, match="pack_hook must be a function"):
        graph.saved_tensors_hooks(3, lambda t: t)


def test_G10_a_graph_that_was_freed_has_nothing_to_unpack():
    store = Store()
    x = leaf([2.0])
    with store.block():
        y = x.exp()
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        y.backward()
    assert store.unpacked == [0, 0]


def test_G10_a_saved_tensor_of_a_function_takes_hooks():
    x = leaf([3.0])
    y = x * x
    y.grad_fn._raw_saved_self.register_hooks(lambda t: t * 2, lambda t: t + 1)
    assert (y.grad_fn._saved_self.tolist(), y.grad_fn._saved_other.tolist()) == ([7.0], [3.0])
    y.backward(retain_graph=True)
    assert x.grad.tolist() == [10.0]
    with pytest.raises(RuntimeError, match="hooks have already been set"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    raw = y.grad_fn._raw_saved_other
    y.backward()
    with pytest.raises(RuntimeError, match="after it has been freed"):
        raw.register_hooks(lambda t: t, lambda t: t)
    y = x * opyard.tensor([2.0], dtype=opyard.float64)
    assert y.grad_fn._saved_self is None
    with pytest.raises(RuntimeError, match="value None is forbidden"):
        y.grad_fn._raw_saved_self.register_hooks(lambda t: t, lambda t: t)
    with pytest.raises(TypeError, match="unpack_hook must be a function"):
        y.grad_fn._raw_saved_other.register_hooks(lambda t: t, 3)


def test_G10_a_saved_tensor_of_a_list_and_of_a_function_in_python_take_hooks():
    x = leaf([3.0])
    y = aten.einsum("i,i->", [x.exp(), x])
    y = Cube.apply(x)
    first, second = y.grad_fn._raw_saved_tensors
    second.register_hooks(lambda t: t * 2, lambda t: t)
    assert [one.tolist() for one in y.grad_fn.saved_tensors] == [[3.0], [18.0]]
    y.backward()
    assert x.grad.tolist() == [54.0]


def test_G10_saved_tensors_are_kept_on_the_cpu():
    x = leaf([2.0])
    y = x * 1
    with graph.save_on_cpu():
        z = y * y
    y.mul_(3)  # what was saved is a copy
    z.backward()
    assert x.grad.tolist() == [4.0]
    with pytest.raises(NotImplementedError, match="pin_memory=True"):
        graph.save_on_cpu(pin_memory=True)


def test_G10_hooks_are_disabled_with_a_reason():
    x = leaf([2.0])
    with graph.disable_saved_tensors_hooks("not in here"):
        with pytest.raises(RuntimeError, match="not in here"), same:
            pass
        with graph.disable_saved_tensors_hooks("deeper"):
            with pytest.raises(RuntimeError, match="deeper"), same:
                pass
        with pytest.raises(RuntimeError, match="not in here"), same:
            pass
    with same:
        y = x * x
        with (
            pytest.raises(RuntimeError, match="cannot be disabled inside of a block"),
            graph.disable_saved_tensors_hooks("too late"),
        ):
            pass
    y.backward()
    with pytest.raises(TypeError, match="must be a str"):
        graph.disable_saved_tensors_hooks(3)


def test_G10_what_hooks_keep_is_collected_with_the_graph():
    class Kept:
        def __init__(self, tensor):
            self.tensor = tensor

    def graph_with_a_cycle():
        x = leaf([2.0])
        holder = []
        with graph.saved_tensors_hooks(
            lambda t: holder.append(Kept(t)) or holder[-1], lambda kept: kept.tensor
        ):
            y = (x * 1).exp()
        holder[0].graph = y  # the graph keeps it, and it the graph
        return weakref.ref(holder[0]), y

    seen, y = graph_with_a_cycle()
    gc.collect()
    assert seen() is not None
    y.backward()
    del y
    gc.collect()
    assert seen() is None

    seen, y = graph_with_a_cycle()
    del y
    gc.collect()
    assert seen() is None


def test_G10_a_run_in_a_run_sees_the_hooks_of_its_thread_at_any_depth():
    store = Store()

    class Deep(autograd.Function):
        @staticmethod
        def forward(ctx, x, depth):
            ctx.save_for_backward(x)
            ctx.depth = depth
            return x * 2

        @staticmethod
        def backward(ctx, gradient):
            (x,) = ctx.saved_tensors
            with autograd.enable_grad():
                inner = leaf([1.0])
                y = Deep.apply(inner, ctx.depth - 1) if ctx.depth else inner.exp()
                y.sum().backward()
            return gradient * 2, None

    x = leaf([1.0])
    y = Deep.apply(x, 70)
    with store.block():
        y.backward()
    assert len(store.kept) == 71
