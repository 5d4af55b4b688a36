"""A wrapper that a class gives as a view counts the same writes, and has no outdated history.

Suspect ExportedTensor::share_versions(), kernels/handlers.cpp and operators/direct_call.cpp, and
autograd/src/functions/write_function.cpp, [Wrappers].
"""

import pytest
from wrapped import Wrapped

import opyard
from opyard import Tensor, autograd
from opyard.dispatch import DispatchMode

aten = opyard.ops.aten


def wrapped(requires_grad=False):
    return Wrapped.of(opyard.ones(4), requires_grad)


VIEWS = {
    "slice": lambda b: b[:2],
    "select": lambda b: b[1],
    "view": lambda b: b.view(2, 2),
    "reshape": lambda b: b.reshape(2, 2),
    "unsqueeze": lambda b: b.unsqueeze(0),
    "as_strided": lambda b: b.as_strided((2,), (1,), 1),
    "alias": aten.alias,
    "split": lambda b: b.split(2)[1],
    "unbind": lambda b: b.unbind(0)[0],
    "detach": lambda b: b.detach(),
    "twice": lambda b: b[1:][1:],
    "by the stack": lambda b: aten.slice(b, dim=0, end=2),
}


@pytest.mark.parametrize("view", VIEWS.values(), ids=VIEWS)
@pytest.mark.parametrize("taped", [True, False])
def test_G11_a_view_of_a_wrapper_counts_the_writes_of_what_it_shows(view, taped):
    base = wrapped(taped) * 1
    shown = view(base)
    with autograd.no_grad():
        base.mul_(2)
        assert (base._version, shown._version) == (1, 1)
        shown.mul_(2)
        assert (base._version, shown._version) == (2, 2)
        view(base).mul_(2)
        assert (base._version, shown._version) == (3, 3)


def test_G11_what_is_no_view_counts_for_itself():
    base = wrapped()
    copy, other = base.clone(), base + 1
    base.mul_(2)
    assert (copy._version, other._version) == (0, 0)


def written_base(base, _):
    base.mul_(2)


def written_view(_, view):
    with autograd.no_grad():
        view.mul_(2)


@pytest.mark.parametrize("write", [written_base, written_view])
@pytest.mark.parametrize("saved", ["base", "view"])
@pytest.mark.parametrize("taped", [True, False])
def test_G11_a_gradient_that_needs_the_old_values_is_refused(write, saved, taped):
    base = wrapped(taped) * 1
    view = base[:2]
    w = opyard.ones(2 if saved == "view" else 4, requires_grad=True)
    y = w * (view if saved == "view" else base)
    write(base, view)
    with pytest.raises(ValueError, match="modified by an inplace operation"):
        y.sum().backward()


def test_G11_a_detached_wrapper_that_is_written_is_seen():
    base = wrapped(requires_grad=True) * 1
    y = base * base
    base.detach().mul_(3)
    with pytest.raises(ValueError, match="modified by an inplace operation"):
        y.sum().backward()


@pytest.mark.parametrize("made", ["taped", "before"])
def test_G11_the_history_of_a_view_is_refused_once_the_wrapper_has_a_newer_one(made):
    base = wrapped(requires_grad=True) * 1 if made == "taped" else wrapped()
    view = base[:2]
    base.mul_(Wrapped.of(opyard.full([4], 3.0), requires_grad=True))
    assert view.requires_grad
    with pytest.raises(ValueError, match="a view that the class of a wrapper gave"):
        view.sum()
    base[:2].sum().backward()


def test_G11_what_was_detached_of_a_wrapper_has_none():
    base = wrapped()
    apart = base.detach()
    base.mul_(Wrapped.of(opyard.ones(4), requires_grad=True))
    assert base.requires_grad and not apart.requires_grad
    assert apart.sum().inner.item() == 4.0


def test_G11_a_wrapper_that_is_written_has_the_history_of_the_write():
    x = wrapped(requires_grad=True)
    base = x * 1
    view = base[:2]
    base.mul_(3)
    base.sum().backward()
    assert x.grad.inner.tolist() == [3.0] * 4 and view._version == 1


def test_G11_a_leaf_is_no_history_of_a_view_that_was_made_before():
    base = wrapped()
    view = base[:2]
    base.requires_grad_()
    assert not view.requires_grad
    (base * 2).sum().backward()
    assert base.grad.inner.tolist() == [2.0] * 4


class Refusing(DispatchMode):
    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        raise KeyError("refused")


class RefusingWrapper(Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        raise KeyError("refused")


REFUSED = {
    "add_": lambda x: x.add_(opyard.ones(2)),
    "copy_": lambda x: x.copy_(opyard.ones(5)),
    "masked_fill_": lambda x: x.masked_fill_(opyard.ones(4), 1.0),
    "scatter_": lambda x: x.scatter_(0, opyard.tensor([7]), 1.0),
    "fill_": lambda x: x.fill_(opyard.ones(3)),
}


@pytest.mark.parametrize("write", REFUSED.values(), ids=REFUSED)
@pytest.mark.parametrize("taped", [True, False])
def test_G11_a_write_that_is_refused_is_not_counted(write, taped):
    x = opyard.ones(4, requires_grad=taped) * 1
    y = x * x
    with pytest.raises((ValueError, TypeError, IndexError)):
        write(x)
    assert x._version == 0
    if taped:
        y.sum().backward()


@pytest.mark.parametrize("taped", [True, False])
def test_G11_a_write_that_a_handler_refuses_is_not_counted(taped):
    x = opyard.ones(4, requires_grad=taped) * 1
    with Refusing(), pytest.raises(KeyError):
        x.mul_(2)
    with Refusing(), pytest.raises(KeyError):
        aten.mul_.Tensor(x, other=opyard.ones(4))
    wrapper = Tensor.make_wrapper_subclass(RefusingWrapper, (4,), requires_grad=False)
    with pytest.raises(KeyError):
        wrapper.mul_(2)
    assert (x._version, wrapper._version) == (0, 0)
