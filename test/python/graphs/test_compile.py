"""opyard.jit.compile(function): graphs made at the first call of each kind (H47).

Suspect _jit/compiled.py and surroundings.py, autograd/python/gradients/call_keys.cpp for what is
the same call, and autograd/src/tape/staged.cpp for gradients.
"""

import contextlib
import copy
import gc
import os
import warnings
import weakref
from typing import NamedTuple

import numpy as np
import pytest
from leaves import leaf
from processes import volume
from test_differentiate import as_tuple, bits, invent

import opyard
from opyard import autograd, jit, nn, optim

aten = opyard.ops.aten
PROGRAMS = volume(200, 40)


def compiled(function):
    """Raises for whatever does not become a graph."""
    made = jit.compile(function)

    def call(*args, **kwargs):
        with warnings.catch_warnings():
            warnings.simplefilter("error", jit.CompileWarning)
            return made(*args, **kwargs)

    call.made = made
    return call


class Pair(NamedTuple):
    left: object
    right: object


def test_H47_a_function_is_traced_once_for_each_kind_of_call():
    runs = []

    def scaled(x, factor):
        runs_of[0](x)
        return aten.exp(x * factor)

    runs_of = (lambda x: None,)
    made = compiled(scaled)
    x = opyard.tensor([[1.0, 2.0]])
    for _ in range(3):
        assert bits(made(x, 2.0)) == bits(aten.exp(x * 2.0))
    assert len(made.made.graphs()) == 1
    made(x, 3.0)  # another constant
    made(x.double(), 2.0)  # dtype
    made(opyard.tensor([[1.0, 2.0, 3.0]]), 2.0)  # sizes
    made(x.t().t(), 2.0)  # the same
    made(opyard.tensor([[1.0], [2.0]]).t(), 2.0)  # strides
    made(x, factor=2.0)  # by name
    with autograd.no_grad():
        made(x, 2.0)
    made(leaf([[1.0, 2.0]]), 2.0)  # needs a gradient
    kinds = made.made.explain().splitlines()
    assert kinds[0] == "scaled: 8 of at most 64 kinds of calls"
    assert kinds[1] == "  (float32[1, 2], 2.0): a graph of 1 node"
    assert kinds[-1].startswith("  (float64[1, 2], requires a gradient, 2.0): a graph of ")
    assert runs == []


def test_H47_an_int_a_float_and_a_bool_are_kinds_of_their_own():
    made = compiled(lambda x, n: x * n)
    x = opyard.tensor([1, 2])
    assert made(x, 1).dtype is opyard.int64
    assert made(x, 1.0).dtype is opyard.float32
    assert made(x, True).tolist() == [1, 2]
    assert made(x, 1 << 40).tolist() == [1 << 40, 2 << 40]
    assert len(made.made.graphs()) == 4


def test_H47_nested_arguments_and_results_keep_their_form():
    def function(batch, *, scale):
        product = batch["x"] * batch["rest"][0]
        return {"all": [product, Pair(product + scale, "text")], "n": 3}

    made = compiled(function)
    x = opyard.tensor([1.0, 2.0])
    batch = {"x": x, "rest": (opyard.tensor([3.0, 4.0]), None)}
    for _ in range(2):
        found = made(batch, scale=1.5)
        assert found["n"] == 3
        assert found["all"][0].tolist() == [3, 8]
        assert type(found["all"][1]) is Pair
        assert found["all"][1].left.tolist() == [4.5, 9.5]
        assert found["all"][1].right == "text"
    assert len(made.made.graphs()) == 1
    made({"x": x, "rest": [x, None]}, scale=1.5)  # a list in place of a tuple
    assert len(made.made.graphs()) == 2


def test_H47_one_tensor_given_twice_is_not_two():
    made = compiled(lambda a, b: a * b + b)
    x, y = leaf([2.0]), leaf([3.0])
    for _ in range(2):
        assert made(x, x).tolist() == [6]
        assert made(x, y).tolist() == [9]
    made(x, x).sum().backward()
    assert x.grad.tolist() == [5]


def test_H47_past_64_kinds_calls_run_as_they_are():
    made = jit.compile(lambda x, n: x + n)
    x = opyard.tensor([1.0])
    for n in range(64):
        assert made(x, n).item() == n + 1
    with pytest.warns(jit.CompileWarning, match="64 kinds of calls are compiled already"):
        assert made(x, 64).item() == 65
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert made(x, 65).item() == 66
        assert made(x, 3).item() == 4
    assert len(made.graphs()) == 64
    assert "2 calls ran as it is, since 64 kinds" in made.explain()


# ---- gradients


@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_H16_gradients_have_the_bits_of_the_function(seed):
    program, rows = invent(seed)
    seeds = [opyard.tensor(row, dtype=opyard.float64) for row in rows[2:4]]
    made = jit.compile(program)
    results = []
    for function in (program, made, made, made):
        leaves = [leaf(row) for row in rows[:2]]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jit.CompileWarning)
            outputs = function(*leaves)
        if function is made and not made.graphs():
            return  # some return what they were given, or one tensor twice
        found = autograd.grad(list(outputs), leaves, grad_outputs=seeds, allow_unused=True)
        results.append([bits(one) for one in (*outputs, *found)])
    assert results[1:] == results[:1] * 3, str(made.graphs()[0])


def test_H16_most_random_programs_become_graphs():
    count = 0
    for seed in range(40):
        program, rows = invent(seed)
        made = jit.compile(program)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jit.CompileWarning)
            made(*(leaf(row) for row in rows[:2]))
        count += len(made.graphs())
    assert count >= 30


def test_the_history_is_one_function_and_hooks_see_its_gradients():
    made = compiled(lambda x, w: aten.tanh(x * w))
    x, w = leaf([0.5]), leaf([2.0])
    made(x, w)
    y = made(x, w)
    assert y.grad_fn.name().endswith("Backward")
    assert [one.name() for one, _ in y.grad_fn.next_functions] == ["AccumulateGrad"] * 2
    seen = []
    y.register_hook(lambda gradient: seen.append(gradient.item()))
    (y * 3).sum().backward()
    assert seen == [3]


def test_a_second_run_needs_keep_graph():
    made = compiled(lambda x: aten.exp(x))
    x = leaf([0.5])
    made(x)
    y = made(x).sum()
    y.backward(retain_graph=True)
    first = x.grad.item()
    y.backward()
    assert x.grad.item() == 2 * first
    with pytest.raises(ValueError, match="backward through the graph a second time"):
        y.backward()


def test_H16_double_backward_is_that_of_the_function():
    def function(x, w):
        return aten.tanh(x * w) * x

    made = compiled(function)
    results = []
    for each in (function, made, made):
        x, w = leaf([0.5, -1.0]), leaf([2.0, 0.25])
        v = leaf([1.0, 3.0])
        inner = x * x  # not a leaf, and x is an argument as well
        (gx,) = autograd.grad(each(inner, w), [x], grad_outputs=[v], create_graph=True)
        again = autograd.grad(gx.sum(), [x, w, v], create_graph=True)
        third = autograd.grad(again[0].sum(), [x, w])
        results.append([bits(one) for one in (gx, *again, *third)])
    assert results[1] == results[0]
    assert results[2] == results[0]


def test_results_without_a_gradient_take_no_part():
    def function(x):
        return x * 2, aten.log(x)  # the second has an infinite derivative at 0

    made = compiled(function)
    made(leaf([0.0]))
    x = leaf([0.0])
    y, unused = made(x)
    y.sum().backward()
    assert x.grad.tolist() == [2]
    del unused


def test_what_a_result_or_an_argument_was_before_is_found_if_it_is_written():
    made = compiled(lambda x, w: aten.exp(x * w))
    for place in range(3):
        x, w = leaf([0.5]), leaf([2.0])
        made(x, w)
        y = made(x, w)
        with autograd.no_grad():
            (x, w, y)[place].mul_(2)
        with pytest.raises(ValueError, match="modified by an inplace operation"):
            y.sum().backward()


def test_numbers_of_a_caller_are_read_when_the_function_reads_them():
    found = []
    for each in (lambda f: f, compiled):
        array = np.array([2.0, 3.0])
        made = each(lambda x, w: x * w)
        w = leaf([1.0, 1.0])
        made(opyard.from_numpy(array), w)
        y = made(opyard.from_numpy(array), w)
        array[:] = 100
        y.sum().backward()
        found.append(w.grad.tolist())
    assert found[0] == found[1]


def test_nothing_is_kept_by_a_cycle():
    made = compiled(lambda x, w: aten.exp(x * w))
    x, w = leaf([0.5]), leaf([2.0])
    made(x, w)
    for write in (False, True):
        inner = x * 1
        y = made(inner, w)
        if write:
            y.mul_(2)
            inner.mul_(2)
        before = weakref.ref(inner), weakref.ref(y)
        memory = opyard.memory.allocated() if hasattr(opyard.memory, "allocated") else None
        del inner, y
        gc.collect()
        assert [one() for one in before] == [None, None]
        del memory


def test_mixed_dtypes_give_gradients_of_the_dtype_of_each():
    def function(x, w):
        return (x * w + aten.exp(x)).sum()

    made = compiled(function)
    results = []
    for each in (function, made, made):
        x = opyard.tensor([1.0, 2.0]).requires_grad_()
        w = leaf([[3.0], [4.0]])
        each(x, w).backward()
        results.append([bits(x.grad), bits(w.grad)])
    assert results[1:] == results[:1] * 2


# ---- modules


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.hidden = nn.Linear(3, 4)
        self.last = nn.Linear(4, 2)
        self.register_buffer("shift", opyard.tensor([0.5, 0.25]))
        self.scale = 2.0

    def forward(self, x):
        return self.last(self.hidden(x).relu()) * self.scale + self.shift


def test_H47_a_module_passes_parameters_and_buffers():
    opyard.manual_seed(0)
    net = Net()
    made = compiled(net)
    x = opyard.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])
    for _ in range(2):
        assert bits(made(x)) == bits(net(x))
    assert all(
        node.kind != "prim::Constant" or node.kind_of("value") != "t"
        for node in made.made.graphs()[0].nodes()
        if node.has_attribute("value")
    )
    net.shift = opyard.tensor([5.0, 6.0])
    net.last = nn.Linear(4, 2)
    with autograd.no_grad():
        net.hidden.weight.mul_(2)
    assert bits(made(x)) == bits(net(x))
    assert len(made.made.graphs()) == 1
    net.scale = 3.0  # a constant of the graph
    assert bits(made(x)) == bits(net(x))
    net.eval()
    assert bits(made(x)) == bits(net(x))
    assert len(made.made.graphs()) == 3


def test_a_module_by_name_and_as_argument_is_the_same():
    net = Net()
    x = opyard.tensor([[1.0, 2.0, 3.0]])

    def by_name(x):
        return net(x)

    for made, args in ((compiled(by_name), (x,)), (compiled(lambda m, x: m(x)), (net, x))):
        for _ in range(2):
            assert bits(made(*args)) == bits(net(x))
        net.scale += 1
        assert bits(made(*args)) == bits(net(x))
        assert len(made.made.graphs()) == 2


def test_training_with_a_compiled_step_gives_the_same_weights():
    x = opyard.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]])
    labels = opyard.tensor([0, 1])
    loss_of = nn.CrossEntropyLoss()
    weights = []
    for compile_it in (False, True):
        opyard.manual_seed(0)
        net = Net()
        optimizer = optim.SGD(net.parameters(), lr=0.1, momentum=0.9)

        def loss(x, labels, net=net):
            return loss_of(net(x), labels)

        step = compiled(loss) if compile_it else loss
        for _ in range(5):
            optimizer.zero_grad()
            step(x, labels).backward()
            optimizer.step()
        weights.append([bits(one) for one in net.parameters()])
    assert weights[0] == weights[1]


def test_the_products_of_a_backward_are_made_in_their_order():
    net = Net()
    made = compiled(lambda x, labels: nn.CrossEntropyLoss()(net(x), labels))
    x, labels = opyard.tensor([[1.0, 2.0, 3.0], [0.5, -1.0, 2.0]]), opyard.tensor([0, 1])
    made(x, labels).backward()
    (graph,) = made.made.graphs()
    kinds = {node.kind for node in graph.nodes()}
    assert kinds.isdisjoint({"opyard::is_column_major", "opyard::mm_in_order"}), graph
    of_graph = [bits(one.grad) for one in net.parameters()]
    net.zero_grad()
    nn.CrossEntropyLoss()(net(x), labels).backward()
    assert of_graph == [bits(one.grad) for one in net.parameters()]


def test_sizes_that_a_kernel_for_meta_invents_are_not_believed(library):
    library.define("twice(Tensor x) -> Tensor")
    library.impl("twice", lambda x: x * 2, "CPU")
    library.impl("twice", lambda x: aten.cat([x, x]), "Meta")
    twice = getattr(getattr(opyard.ops, library.ns), "twice")  # noqa: B009
    library.derivative("twice", {"x": "expand(sum(grad * 2), sizes(x))"})
    made = compiled(lambda x: (twice(x * 1) * 3).sum())
    x = leaf([1.0, 2.0])
    made(x)
    made(x).backward()
    assert x.grad.tolist() == [12, 12]


def test_sizes_that_a_function_of_the_user_gives_are_asked_each_time():
    class Repeated(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.times = int(x[0].item())
            return aten.cat([x] * ctx.times)

        @staticmethod
        def backward(ctx, grad):
            return grad.reshape([ctx.times, 2]).sum(0)

    made = compiled(lambda x, y: (Repeated.apply(x) * y).sum())
    for times in (1, 1, 2):
        x, y = leaf([float(times), 5.0]), leaf([3.0])
        made(x, y).backward()
        assert y.grad.tolist() == [times * (times + 5)]


@pytest.mark.parametrize("key", ["CPU", "Meta"])
@pytest.mark.parametrize("before", [True, False])
def test_an_override_that_gives_other_sizes_is_asked(key, before):
    def twice(x):
        return aten.cat([x, x])

    made = compiled(lambda x, y: (aten.relu(x.detach()) + y).sum())
    if not before:
        made(leaf([[1.0, 2.0]]), leaf([[1.0, 2.0]]))
    with opyard.library.override("aten::relu", key, twice):
        for _ in range(2):
            y = leaf([[1.0, 2.0]])
            made(leaf([[1.0, 2.0]]), y).backward()
            assert y.grad.tolist() == ([[2, 2]] if key == "CPU" else [[1, 1]])


USES_OF_A_NUMBER = {
    "narrow": lambda x, n: aten.narrow(x, 0, n, 1) * 1,
    "alpha": lambda x, n: aten.add(x, x, alpha=n),
    "arange": lambda x, n: x.sum() + aten.arange(n).sum(),
    "sizes": lambda x, n: x[:1].expand([n + 1]) * 1,
}


@pytest.mark.parametrize("name", USES_OF_A_NUMBER)
def test_H47_a_tensor_that_is_taken_as_a_number_is_no_constant(name):
    function, x = USES_OF_A_NUMBER[name], opyard.tensor([10.0, 20.0, 30.0])
    made = jit.compile(function)
    for n in (0, 1, 2):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", jit.CompileWarning)
            result = made(x, opyard.tensor(n))
        assert bits(result) == bits(function(x, opyard.tensor(n)))
    with pytest.warns(jit.TracerWarning, match="item"):
        jit.trace(function, (x, opyard.tensor(1)))


def test_a_method_is_compiled_with_its_object():
    class Scaled:
        def __init__(self):
            self.w = leaf([2.0])
            self.factor = 3

        def run(self, x):
            return x * self.w * self.factor

    one = Scaled()
    made = compiled(one.run)
    x = opyard.tensor([1.0], dtype=opyard.float64)
    for _ in range(2):
        assert made(x).tolist() == [6]
    one.w = leaf([5.0])
    assert made(x).tolist() == [15]
    one.factor = 4
    assert made(x).tolist() == [20]
    made(x).sum().backward()
    assert one.w.grad.tolist() == [4]


# ---- forks, copies


@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning")  # other tests leave threads
def test_a_child_of_a_fork_goes_on():
    made = compiled(lambda x: aten.exp(x))
    x = leaf([0.5])
    made(x)
    child = os.fork()
    if child == 0:
        with contextlib.suppress(BaseException):
            made(x).sum().backward()
            made(leaf([0.5, 1.0])).sum().backward()
            os._exit(0 if len(made.made.graphs()) == 2 and x.grad is not None else 1)
        os._exit(2)
    assert os.waitpid(child, 0)[1] == 0


def test_as_a_decorator_and_copied():
    class Holder(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = nn.Parameter(opyard.tensor([2.0]))

        @jit.compile
        def forward(self, x):
            """Twice as much."""
            return x * self.w

    one = Holder()
    x = opyard.tensor([3.0])
    for _ in range(2):
        assert one(x).tolist() == [6]
    assert len(Holder.forward.graphs()) == 1
    assert copy.deepcopy(one)(x).tolist() == [6]  # which changes the class: copyreg notes its slots
    assert Holder.forward.__doc__ == "Twice as much."
    assert repr(Holder.forward) == "<compiled forward>"
    assert as_tuple(one(x))


NUMBERS_FIRST = {
    "1 / p": lambda p: 1 / p,
    "3.5 / p": lambda p: 3.5 / p,
    "True / p": lambda p: True / p,
    "7 // p": lambda p: 7 // p,
    "7 % p": lambda p: 7 % p,
    "2 ** p": lambda p: 2**p,
    "1 - p": lambda p: 1 - p,
    "a number of NumPy / p": lambda p: np.float32(3) / p,
}


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("function", NUMBERS_FIRST.values(), ids=NUMBERS_FIRST)
@pytest.mark.parametrize("data", [3.0, [2.0, 4.0], [2, 4]], ids=str)
@pytest.mark.parametrize("dtype", [None, opyard.float64], ids=str)
def test_a_number_before_a_tensor_is_in_the_graph(function, data, dtype):
    x = opyard.tensor(data, dtype=dtype)
    compiled, expected = jit.compile(function), function(x)
    for _ in range(3):
        got = compiled(x)
        assert got.dtype == expected.dtype and got.tolist() == expected.tolist()
    assert "<Tensor>" not in str(jit.trace(function, x).graph)
