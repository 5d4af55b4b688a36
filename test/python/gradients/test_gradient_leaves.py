"""Leaves: tensors that are told to require a gradient, or none any more, and the views of them that
were made before; views that are made under inference_mode.

Suspect autograd/src/functions/tensor_state.cpp, [Early views] in opyard/autograd/tensor_state.h,
and mark_if_inferred() in dispatcher/src/tensor/tensor.cpp.
"""

import gc
import weakref

import pytest

import opyard
from opyard import autograd

aten = opyard.ops.aten


def ones(*sizes):
    return opyard.ones(*sizes, dtype=opyard.float64)


VIEWS = {
    "select": lambda b: b[0],
    "slice": lambda b: b[1:],
    "transpose": lambda b: b.t(),
    "all": lambda b: b.view(6),
}


@pytest.mark.parametrize("name", VIEWS)
def test_a_view_that_was_there_before_its_leaf_required_a_gradient_is_not_written(name):
    b = ones(3, 2)
    v = VIEWS[name](b)
    b.requires_grad_()
    with pytest.raises(ValueError, match="a view of a leaf Variable that requires grad"):
        v.add_(1)
    with pytest.raises(ValueError, match="a view of a leaf Variable that requires grad"):
        v.mul_(opyard.tensor(2.0, dtype=opyard.float64, requires_grad=True))
    with autograd.no_grad():
        v.add_(1)
    assert b.requires_grad and b.is_leaf


@pytest.mark.parametrize("name", VIEWS)
def test_the_gradient_of_a_view_that_was_there_before_goes_to_the_leaf(name):
    b = ones(3, 2)
    v = VIEWS[name](b)
    b.requires_grad_()
    assert v.requires_grad and not v.is_leaf and b.is_leaf
    (v * v).sum().backward()
    expected = ones(3, 2).requires_grad_()
    view = VIEWS[name](expected)
    (view * view).sum().backward()
    assert b.grad.tolist() == expected.grad.tolist()


def test_what_is_beside_a_leaf_on_its_memory_is_written():
    b = ones(4)
    leaf, beside, whole = b[:2], b[2:], b[:]
    leaf.requires_grad_()
    beside.add_(1)
    whole.add_(1)
    assert not whole.requires_grad and not beside.requires_grad
    assert b.tolist() == [2.0, 2.0, 3.0, 3.0]


def test_a_detached_tensor_is_no_view_of_its_leaf():
    b = ones(3)
    d = b.detach()
    b.requires_grad_()
    d.add_(1)
    assert not d.requires_grad and b.tolist() == [2.0] * 3


def test_leaves_on_one_memory_that_have_died_are_forgotten():
    flat = ones(8)
    for _ in range(1000):
        part = flat[2:4]
        part.requires_grad_()
        (part * part).sum().backward()
        part.grad = flat[4:6]  # a gradient on the same memory is no cycle
        del part
    gc.collect()
    inner = flat[2:3]
    inner.add_(1)
    assert flat.tolist() == [1.0, 1.0, 2.0, 1.0, 1.0, 1.0, 1.0, 1.0]


def test_an_older_graph_gives_nothing_to_what_requires_no_gradient_any_more():
    x = ones(3).requires_grad_()
    seen = []
    x.register_hook(lambda gradient: seen.append(gradient.tolist()))
    y = (x * 2).sum()
    x.requires_grad_(False)
    y.backward()
    assert x.grad is None and seen == [[2.0] * 3]
    with pytest.raises(ValueError, match="does not require grad"):
        autograd.grad((x * 2).sum(), x)


def test_an_older_graph_gives_again_to_a_leaf_that_requires_a_gradient_again():
    x = ones(3).requires_grad_()
    y = (x * 2).sum()
    x.requires_grad_(False)
    x.requires_grad_()
    y.backward()
    assert x.grad.tolist() == [2.0] * 3


@pytest.mark.parametrize("view", [lambda y: y[:1], lambda y: y.view(1, 3), lambda y: aten.alias(y)])
def test_A32_a_view_made_under_inference_mode_is_not_written_afterwards(view):
    y = ones(3).requires_grad_() * 2
    with autograd.inference_mode():
        v = view(y)
        v.add_(1)  # there it may be
    with pytest.raises(ValueError, match="a view that was made under no_grad or inference_mode"):
        v.add_(1)
    with autograd.no_grad():
        v.add_(1)


def test_A32_what_is_detached_under_inference_mode_is_written():
    y = ones(3).requires_grad_() * 2
    with autograd.inference_mode():
        d = y.detach()
    d.add_(1)
    assert y.tolist() == [3.0] * 3


def test_A32_a_view_under_inference_mode_of_what_has_no_history_is_written():
    y = ones(3)
    with autograd.inference_mode():
        v = y[:1]
    v.add_(1)
    assert y.tolist() == [2.0, 1.0, 1.0]


def calls_of_backward(run):
    """The names of the operators that are called meanwhile."""
    seen = []

    class Log(opyard.dispatch.DispatchMode):
        def __opyard_dispatch__(self, op, types, args, kwargs):
            seen.append(str(op))
            return op(*args, **kwargs)

    with Log():
        run()
    return seen


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize("with_term", [False, True])
def test_the_gradient_of_a_factor_lies_as_the_leaf_does_and_is_not_copied(turned, with_term):
    x = opyard.arange(6, dtype=opyard.float64).view(2, 3)
    w = (ones(4, 3) if turned else ones(3, 4)).requires_grad_()
    factor = w.t() if turned else w
    result = aten.addmm(ones(4), x, factor) if with_term else x @ factor
    seen = calls_of_backward(lambda: result.backward(ones(2, 4)))
    assert seen.count("aten.mm.default") == 1 and "aten.clone.default" not in seen, seen
    assert w.grad.is_contiguous()
    rows = [[3.0] * 4, [5.0] * 4, [7.0] * 4]
    assert w.grad.tolist() == ([list(row) for row in zip(*rows, strict=True)] if turned else rows)


def test_the_gradient_of_a_factor_that_is_neither_row_nor_column_major():
    x, w = opyard.arange(6, dtype=opyard.float64).view(2, 3), ones(6, 4).requires_grad_()
    (x @ w[::2]).sum().backward()
    assert w.grad[::2].tolist() == [[3.0] * 4, [5.0] * 4, [7.0] * 4]
    assert w.grad[1::2].sum().item() == 0


def test_a_factor_that_is_written_after_a_product_still_has_a_gradient():
    x, w = ones(2, 3), ones(4, 3).requires_grad_()
    loss = (x @ w.t()).sum()
    with autograd.no_grad():
        w.mul_(2)  # the gradient of w asks x alone
    loss.backward()
    assert w.grad.tolist() == [[2.0] * 3] * 4


def test_double_backward_through_the_gradient_of_a_turned_factor():
    x, w = ones(2, 3).requires_grad_(), ones(4, 3).requires_grad_()
    (grad,) = autograd.grad((x @ w.t()).pow(2).sum(), w, create_graph=True)
    grad.sum().backward()
    assert x.grad.tolist() == [[48.0] * 3] * 2
    assert w.grad.tolist() == [[12.0] * 3] * 4


def test_a_gradient_is_set_read_and_deleted():
    x, other = ones(2).requires_grad_(), ones(2)
    assert x.grad is None and x.is_leaf and x.requires_grad
    x.grad = other
    assert x.grad is other
    for wrong in (3, "grad", [other]):
        with pytest.raises(TypeError, match="grad must be a Tensor or None, not an object of"):
            x.grad = wrong
    with pytest.raises(ValueError, match="sizes"):
        x.grad = ones(3)
    assert x.grad is other
    del x.grad
    assert x.grad is None
    with pytest.raises(TypeError, match="requires_grad must be True or False"):
        x.requires_grad = 1


def test_G10_a_leaf_that_was_saved_is_in_no_cycle():
    """A function that saved a leaf owns it; the leaf owns only what accumulates its gradient."""
    x = ones(3).requires_grad_()
    y = x * x
    gone = [weakref.ref(x), weakref.ref(y)]
    gc.disable()
    try:
        y.sum().backward()
        y = x * x
        gone.append(weakref.ref(y))
        del x, y
        assert [reference() for reference in gone] == [None] * 3
    finally:
        gc.enable()


def test_a_leaf_without_elements_accumulates():
    x = ones(0, 3).requires_grad_()
    for _ in range(3):
        (x + 1).sum().backward()
    assert x.grad.shape == (0, 3)


def test_a_gradient_that_is_given_before_any_is_needed_is_kept(run_program):
    program = """
        import opyard

        w = opyard.ones(2)
        w.grad = opyard.full([2], 3.0)
        print(w.grad.tolist(), w.requires_grad)
        w.requires_grad_()
        (w * 2).sum().backward()
        print(w.grad.tolist())
        w.grad = None
        print(w.grad)
    """
    assert run_program(program).stdout.splitlines() == [
        "[3.0, 3.0] False",
        "[5.0, 5.0]",
        "None",
    ]
