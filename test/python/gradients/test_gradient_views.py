"""Histories of views and of what is written: in place, through views, into memory that is shared.

Suspect autograd/src/tape/tape.cpp, write_function.cpp, tensor_state.cpp.
"""

import contextlib

import pytest
from leaves import leaf

import opyard
from opyard import autograd
from opyard.library import Library

aten = opyard.ops.aten


# Views and writes.


def test_a_write_into_a_buffer_is_differentiated():
    y = leaf([1.0, 2.0])
    buffer = aten.zeros([2, 2], dtype=opyard.float64)
    buffer[0] = y
    buffer[1] = y * 3
    (buffer * buffer).sum().backward()
    assert y.grad.tolist() == [2 + 18, 4 + 36]


def test_a_view_made_before_the_write_sees_its_history():
    y = leaf([1.0, 2.0])
    buffer = aten.zeros([2, 2], dtype=opyard.float64)
    row = buffer[1]
    buffer[1] = y
    assert row.requires_grad
    (row * row).sum().backward()
    assert y.grad.tolist() == [2, 4]


def test_a_write_through_a_view_of_a_result():
    x = leaf([1.0, 2.0, 3.0])
    h = x * 2
    v = h[1:]
    v.mul_(10)
    h.sum().backward()
    assert x.grad.tolist() == [2, 20, 20]


def test_an_in_place_chain_uses_what_was_there_before():
    x = leaf([1.0, 2.0])
    y = leaf([3.0, 4.0])
    h = x * 1
    h.mul_(y)
    h.mul_(h)
    h.sum().backward()
    assert x.grad.tolist() == [2 * 1 * 9, 2 * 2 * 16]
    assert y.grad.tolist() == [2 * 3 * 1, 2 * 4 * 4]


def test_a_detached_tensor_sees_no_history():
    x = leaf([1.0, 2.0])
    h = x * 2
    d = h.detach()
    h[0] = x[1]
    assert not d.requires_grad
    assert not d[0].requires_grad
    assert h.requires_grad


def test_writes_that_must_not_be():
    x = leaf([1.0, 2.0])
    h = x * 2
    with autograd.no_grad():
        view = h[0]
    with pytest.raises(ValueError, match="made under no_grad"):
        view.add_(x[0])
    wide = h[:1].expand([3])
    with pytest.raises(ValueError, match="expanded tensor"):
        wide.add_(1)
    with autograd.no_grad():
        x.add_(1)
    assert x.tolist() == [2, 3]


def test_filling_takes_the_history_away():
    x = leaf([1.0, 2.0])
    h = x * 2
    h.zero_()
    (h.sum() + (x * 3).sum()).backward()
    assert x.grad.tolist() == [3, 3]


def test_out_forms_cannot_be_taped():
    x = leaf([1.0])
    out = opyard.tensor([0.0], dtype=opyard.float64)
    with pytest.raises(NotImplementedError, match="functions with out=... arguments don't support"):
        aten.mul(x, x, out=out)


def test_a_call_that_writes_two_arguments_is_taped_for_both():
    with contextlib.closing(Library("two_writes", "DEF")) as lib:
        lib.define("scale_(Tensor(a!) x, Tensor(b!) y, Tensor by) -> (Tensor(a!), Tensor(b!))")

        def scale(x, y, by):
            return x.mul_(by), y.mul_(by)

        lib.impl("scale_", scale, "CPU")
        lib.derivative("scale_", {"x": "grad0 * by", "y": "grad1 * by", "by": "None"})
        a = opyard.tensor([1.0, 2.0]).requires_grad_()
        b = opyard.tensor([3.0, 4.0]).requires_grad_()
        x, y = a * 1, b * 1
        opyard.ops.two_writes.scale_(x, y, opyard.tensor([10.0, 100.0]))
        (x.sum() + y.sum() * 2).backward()
        assert a.grad.tolist() == [10.0, 100.0]
        assert b.grad.tolist() == [20.0, 200.0]


def test_a_write_of_plain_values_to_a_view_made_without_gradients_is_refused():
    x = leaf([1.0, 2.0])
    h = x * 2
    with autograd.no_grad():
        view = h[:1]
        of_view = view.view(1)
        leafs = x[:1]
    for written in (view, of_view, leafs):
        version = h._version
        with pytest.raises(ValueError, match="made under no_grad"):
            written.mul_(0)
        with pytest.raises(ValueError, match="made under no_grad"):
            aten.add.out(opyard.tensor([1.0]), opyard.tensor([1.0]), out=written)
        assert h._version == version
    assert h.tolist() == [2, 4]
    with autograd.no_grad():
        view.mul_(1)
    assert (view * 2).tolist() == [4], "it is read as before"
    assert not (view * 2).requires_grad
    view.detach().mul_(0)
    assert h.tolist() == [0, 4]


def test_G2_what_is_made_like_a_tensor_needs_no_gradient():
    x = leaf([[1.0, 2.0]])
    aten = opyard.ops.aten
    made = [aten.new_zeros(x, [2]), aten.new_ones(x, [2]), aten.new_full(x, [2], 3.0)]
    made += [aten.new_empty(x, [2]), aten.new_empty_strided(x, [2], [1]), aten.zeros_like(x)]
    assert not any(one.requires_grad for one in made)
    assert made[0].add_(1).tolist() == [1, 1]


@pytest.mark.parametrize(
    "parts",
    [
        lambda x: opyard.ops.aten.unbind(x),
        lambda x: opyard.ops.aten.split(x, 1),
        lambda x: opyard.ops.aten.split(x, [1, 2]),
        lambda x: opyard.ops.aten.split_with_sizes(x, [1, 2]),
        lambda x: opyard.ops.aten.chunk(x, 2),
    ],
    ids=["unbind", "split", "split.sizes", "split_with_sizes", "chunk"],
)
def test_F32_one_of_several_views_is_not_written_with_gradients_on(parts):
    x = leaf([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]])
    y = x * 1
    for view in (parts(y)[0], opyard.ops.aten.alias(parts(y)[0])):
        with pytest.raises(ValueError, match="a function that returns multiple views"):
            view.mul_(2)
    assert y._version == 0
    with autograd.no_grad():
        parts(y)[0].mul_(1)
        untaped = parts(y)[0]
    with pytest.raises(ValueError, match="made under no_grad"):
        untaped.mul_(2)
    assert type(parts(y)[0].grad_fn.name()) is str
    (parts(y)[-1] * 3).sum().backward()
    assert x.grad[0].sum().item() == 0
    assert x.grad[2].tolist() == [3, 3]


def test_G11_a_detached_tensor_and_its_views_have_a_history_of_their_own():
    x = leaf([3.0])
    whole = leaf([1.0, 2.0, 4.0]) * 1
    one, other = whole.detach(), whole.detach()
    before = one[1:]
    one[:1].mul_(x)  # through a view
    assert one.requires_grad and before.requires_grad and one[2:].requires_grad
    assert not other.requires_grad and not other[:1].requires_grad
    assert not one.detach().requires_grad
    (one * one).sum().backward(retain_graph=True)
    assert x.grad.tolist() == [6]  # one[0] is 1 * 3: 2 * 3 * 1
    other.mul_(x)  # the whole of it
    x.grad = None
    other[1:].sum().backward()
    assert x.grad.tolist() == [6]
    assert whole.tolist() == [9, 6, 12], "the memory is one"
    before.sum()


def test_G11_what_is_detached_before_a_write_takes_no_part_in_it():
    x = leaf([3.0])
    buffer = opyard.tensor([1.0, 2.0], dtype=opyard.float64)
    apart = buffer.detach()  # of something without a history
    buffer[:1].mul_(x)
    assert buffer.requires_grad and not apart.requires_grad
    assert not apart[:1].requires_grad


def test_a_view_made_without_gradients_has_none_of_its_memory():
    x = opyard.tensor([1.0, 2.0]).requires_grad_()
    buffer = opyard.tensor([0.0, 0.0])
    alias = buffer.alias()
    buffer[0] = x[0]
    with opyard.autograd.no_grad():
        view = buffer[:1]
    assert buffer.requires_grad and alias.requires_grad and not view.requires_grad


def test_G11_a_write_through_a_view_of_a_view_keeps_what_the_first_view_leaves_out():
    x = leaf([1.0, 2.0, 3.0])
    y = x * 1
    y[1:][0].mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [1, 3, 1]


def view_and_write(write):
    x = opyard.ones(2, dtype=opyard.float64, requires_grad=True)
    base = x * 1
    view = base[:1]
    write(base, view)
    return x, base, view


# What is written, and whether that is before a view is used.
WRITTEN = {
    "the base": lambda base, view: base.mul_(3),
    "the view": lambda base, view: view.mul_(3),
    "both": lambda base, view: (base.mul_(3), view.mul_(1)),
    "nothing": lambda base, view: None,
}


@pytest.mark.parametrize("write", WRITTEN.values(), ids=WRITTEN)
@pytest.mark.parametrize("base_first", [True, False])
def test_the_gradient_of_a_base_has_the_part_of_its_views(write, base_first):
    def loss_of(base, view):
        parts = [base.sum(), (view * view).sum()]
        return parts[0] + parts[1] if base_first else parts[1] + parts[0]

    x, base, view = view_and_write(write)
    of_base, of_view, of_x = autograd.grad(loss_of(base, view), [base, view, x])
    value = view.item()
    assert of_base.tolist() == [1 + 2 * value, 1.0] and of_view.tolist() == [2 * value]
    slope = [value, 3.0 if base[1].item() == 3.0 else 1.0]
    assert of_x.tolist() == [slope[0] * (1 + 2 * value), slope[1]]

    x, base, view = view_and_write(write)
    seen = []
    base.retain_grad()
    base.register_hook(lambda gradient: seen.append(gradient.tolist()))
    loss_of(base, view).backward()
    assert base.grad.tolist() == [1 + 2 * value, 1.0] and seen == [[1 + 2 * value, 1.0]]


def test_a_base_that_is_used_by_a_view_alone_is_used():
    x, base, view = view_and_write(WRITTEN["the base"])
    assert autograd.grad((view * view).sum(), base)[0].tolist() == [6.0, 0.0]
    x, base, view = view_and_write(WRITTEN["the base"])
    (first,) = autograd.grad((view * view * view).sum(), base, create_graph=True)
    (second,) = autograd.grad(first.sum(), x)
    assert first.tolist() == [27.0, 0.0] and second.tolist() == [54.0, 0.0]
