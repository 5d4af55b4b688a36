"""Functions in Python that write, keywords of apply(), hooks beside writes, modes of generators.

Suspect autograd/python/opyard/_autograd and autograd/src/write_function.cpp.
"""

import copy
import pickle

import pytest
from leaves import leaf

import opyard
from opyard import autograd
from opyard.library import Library

aten = opyard.ops.aten


class Triple(autograd.Function):
    """Writes its input."""

    @staticmethod
    def forward(ctx, x):
        x.mul_(3)
        ctx.mark_dirty(x)
        return x

    @staticmethod
    def backward(ctx, grad):
        return grad * 3


class Put(autograd.Function):
    """Writes what it is given to memory that required nothing."""

    @staticmethod
    def forward(ctx, memory, x):
        memory.copy_(x)
        ctx.mark_dirty(memory)
        return memory

    @staticmethod
    def backward(ctx, grad):
        return None, grad


def test_G16_what_a_function_writes_through_a_view_is_seen_by_all_of_the_memory():
    w = leaf([[1.0, 2.0], [3.0, 4.0]])
    base = w * 2
    Triple.apply(base[0])
    (base * base).sum().backward()
    assert base.tolist() == [[6, 12], [6, 8]]
    assert w.grad.tolist() == [[72, 144], [24, 32]]

    x = leaf([1.0, 2.0])
    rows = opyard.zeros(2, 2, dtype=opyard.float64)
    Put.apply(rows[1], x)
    (rows * 2).sum().backward()
    assert x.grad.tolist() == [2, 2]


def test_G16_a_function_that_writes_what_must_not_be_written_is_refused():
    with pytest.raises(ValueError, match="Triple: a leaf Variable that requires grad"):
        Triple.apply(leaf([1.0]))
    with pytest.raises(ValueError, match="Triple: a view of a leaf Variable"):
        Triple.apply(leaf([1.0, 2.0])[:1])


class Scale(autograd.Function):
    @staticmethod
    def forward(ctx, x, by=2):
        ctx.by = by
        return x * by

    @staticmethod
    def backward(ctx, grad):
        gradients = (grad * ctx.by, None)
        return gradients[: len(ctx.needs_input_grad)]


class ScaleWithSetup(Scale):
    @staticmethod
    def forward(x, by=2):
        return x * by

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.by = inputs[1]


@pytest.mark.parametrize("function", [Scale, ScaleWithSetup])
def test_G16_apply_takes_keywords_and_defaults(function):
    for keywords, slope in (({}, 2), ({"by": 5}, 5)):
        x = leaf([1.0])
        function.apply(x, **keywords).backward()
        assert x.grad.tolist() == [slope]


def test_G16_a_function_without_a_backward_says_so():
    class Half(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    with pytest.raises(NotImplementedError, match="the Function has no backward: write backward"):
        Half.apply(leaf([1.0])).backward()


def test_G15_hooks_see_the_gradient_of_what_the_tensor_was_when_they_were_added():
    x, seen = leaf([1.0, 2.0]), []
    y = x * 2
    first = y.register_hook(lambda grad: seen.append(("before", grad.tolist())))
    removed = y.register_hook(lambda grad: seen.append("removed"))
    y.retain_grad()
    y.mul_(3)
    removed.remove()
    y.register_hook(lambda grad: seen.append(("after", grad.tolist())))
    y.sum().backward()
    assert seen == [("after", [1, 1]), ("before", [3, 3])]
    assert y.grad.tolist() == [1, 1]
    first.remove()


def test_G15_a_hook_after_the_gradient_was_accumulated():
    x, seen = leaf([1.0, 2.0]), []
    handle = x.register_post_accumulate_grad_hook(lambda of: seen.append(of.grad.tolist()))
    for _ in range(2):
        (x * 3).sum().backward()
    handle.remove()
    (x * 3).sum().backward()
    assert seen == [[3, 3], [6, 6]]
    with pytest.raises(ValueError, match="the tensor is no leaf that requires a gradient"):
        (x * 2).register_post_accumulate_grad_hook(seen.append)
    with pytest.raises(TypeError, match="a hook must be a function"):
        x.register_post_accumulate_grad_hook("x")


def test_G13_a_mode_of_a_generator_holds_while_it_runs():
    @autograd.no_grad()
    def products(x):
        try:
            got = yield x * 2
            yield got
        except KeyError:
            yield x * 3
        return (x * 4).requires_grad

    x = leaf([1.0])
    generator = products(x)
    assert not next(generator).requires_grad
    assert (x * 1).requires_grad
    assert generator.send(7) == 7
    assert not generator.throw(KeyError()).requires_grad
    with pytest.raises(StopIteration) as end:
        next(generator)
    assert end.value.value is False


def test_G4_gradients_that_do_not_exist_are_zeros_if_asked():
    x, z = leaf([1.0]), leaf([2.0])
    dx, dz = autograd.grad((x * 2).sum(), [x, z], materialize_grads=True)
    assert (dx.tolist(), dz.tolist()) == ([2], [0])
    with pytest.raises(ValueError, match="gives zeros where allow_unused=False raises"):
        autograd.grad((x * 2).sum(), [x, z], allow_unused=False, materialize_grads=True)
    # By position as PyTorch's: the sixth is only_inputs, the seventh allow_unused.
    given = autograd.grad((x * 2).sum(), [x, z], None, None, False, True, True)
    assert given[0].tolist() == [2] and given[1] is None
    with pytest.raises(ValueError, match="only_inputs must be True, not False"):
        autograd.grad((x * 2).sum(), x, only_inputs=False)


def test_X31_a_formula_that_gives_no_gradient_is_refused(formulas_unread):
    lib = Library("no_gradients", "DEF")
    lib.define("half(Tensor x) -> Tensor")
    lib.impl("half", lambda x: x / 2, "CPU")
    lib.derivative("half", {"x": "numel(x)"})
    with pytest.raises(ValueError, match="gives a value of type int, and a gradient is a Tensor"):
        autograd.check_formulas(opyard.ops.no_gradients.half.default)
    lib.define("total(Tensor[] xs) -> Tensor")
    lib.impl("total", lambda xs: xs[0] + xs[1], "CPU")
    lib.derivative("total", {"xs": "grad"})
    total = opyard.ops.no_gradients.total([leaf([1.0]), leaf([2.0])])
    with pytest.raises(RuntimeError, match='TotalBackward: the formula "grad" gave .*a list of gr'):
        total.backward()
    lib.define("twice(Tensor x) -> Tensor")
    lib.impl("twice", lambda x: x * 2, "CPU")
    lib.derivative("twice", {"x": "cat([grad, grad])"})
    with pytest.raises(RuntimeError, match=r"Function TwiceBackward returned an invalid gradient"):
        opyard.ops.no_gradients.twice(leaf([1.0, 2.0])).sum().backward()
    lib._destroy()


def test_a_copy_of_a_leaf_requires_a_gradient_and_one_of_a_result_is_refused():
    x = leaf([1.0])
    for made in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert made.requires_grad and made.is_leaf and made.grad is None
    plain = opyard.tensor([1.0])
    assert not copy.deepcopy(plain).requires_grad
    assert not pickle.loads(pickle.dumps(plain)).requires_grad
    with pytest.raises(ValueError, match="the tensor has a history of gradients"):
        copy.deepcopy(x * 2)


def test_the_gradient_of_a_deviation_of_equal_numbers_is_zero():
    for of in (lambda x: x.std(), lambda x: aten.std(x, [0]), lambda x: aten.norm(x - x, 3)):
        x = leaf([1.0, 1.0])
        of(x).backward()
        assert x.grad.tolist() == [0, 0]


def test_the_gradient_of_a_gather_by_int32():
    x = leaf([[1.0, 2.0], [3.0, 4.0]])
    aten.gather(x, 1, opyard.tensor([[0, 0], [1, 1]], dtype=opyard.int32)).sum().backward()
    assert x.grad.tolist() == [[2, 0], [0, 2]]


class First(autograd.Function):
    """Gives a view of its argument."""

    @staticmethod
    def forward(ctx, x):
        return x[0]

    @staticmethod
    def backward(ctx, grad):
        return aten.stack([grad, grad * 0])


class Same(autograd.Function):
    """Gives its argument."""

    @staticmethod
    def forward(ctx, x, other=None):
        return x if other is None else other

    @staticmethod
    def backward(ctx, grad):
        return grad * 5, None


GIVEN_VIEWS = {
    "a view": lambda x: First.apply(x),
    "the argument": lambda x: Same.apply(x),
    "a view of a given view": lambda x: Same.apply(x)[1],
}


@pytest.mark.parametrize("given", GIVEN_VIEWS)
def test_G16_a_view_that_a_function_gave_is_refused_when_its_memory_was_written(given):
    """Its history is that of the Function, which knows nothing of the write."""
    w = leaf([1.0, 2.0])
    x = w * 1
    y = GIVEN_VIEWS[given](x)
    before = y * 2
    x.mul_(3)
    with pytest.raises(ValueError, match="is a view of an argument, given by"):
        y.sum()
    with pytest.raises(ValueError, match="is a view of an argument"):
        y.sum().backward()
    assert "Invalid" in repr(y)
    before.sum().backward()
    assert w.grad.tolist() == {"a view": [2.0, 0.0], "the argument": [10.0, 10.0]}.get(
        given, [0.0, 10.0]
    )


@pytest.mark.parametrize("given", GIVEN_VIEWS)
def test_G16_a_view_that_a_function_gave_is_not_written(given):
    x = leaf([1.0, 2.0]) * 1
    y = GIVEN_VIEWS[given](x)
    with pytest.raises(ValueError, match="a view that a Function gave of one of its arguments"):
        y.mul_(2)
    with autograd.no_grad():
        y.mul_(2)
    assert y.sum().requires_grad


def test_G16_an_argument_without_history_that_is_given_on_keeps_the_functions():
    x, plain = leaf([1.0]), opyard.zeros(1, dtype=opyard.float64)
    y = Same.apply(x, plain)
    assert y.requires_grad and not plain.requires_grad
    y.sum().backward()
    assert x.grad.tolist() == [5.0]
    plain.add_(x.detach())
    y.sum().backward()
    plain.add_(x)
    with pytest.raises(ValueError, match="given by SameBackward"):
        y.sum()


def test_G16_a_gradient_of_what_is_no_tensor_is_refused():
    class Scaled(autograd.Function):
        @staticmethod
        def forward(ctx, x, by):
            return x * by

        @staticmethod
        def backward(ctx, grad):
            return grad * 2, grad

    with pytest.raises(RuntimeError, match="different than None at position 2"):
        Scaled.apply(leaf([1.0]), 2.0).backward()


class Through(autograd.Function):
    @staticmethod
    def forward(ctx, x, is_written):
        if is_written:
            x.mul_(3)
            ctx.mark_dirty(x)
        return x, x.detach() * 2

    @staticmethod
    def backward(ctx, one, other):
        return one, None


@pytest.mark.parametrize("mode", [autograd.no_grad, autograd.inference_mode])
@pytest.mark.parametrize("is_written", [False, True])
def test_G13_an_input_that_is_handed_through_without_gradients_requires_none(mode, is_written):
    for x in (opyard.ones(2, requires_grad=True), opyard.ones(2, requires_grad=True) * 1):
        with mode():
            given, other = Through.apply(x, is_written)
        assert x.requires_grad and not given.requires_grad and not other.requires_grad
        assert given.data_ptr() == x.data_ptr() and given.tolist() == x.tolist()
        assert not (given * 2).requires_grad
    plain = opyard.ones(2)
    with mode():
        assert Through.apply(plain, is_written)[0] is plain
