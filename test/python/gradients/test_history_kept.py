"""A history is kept, or its loss is refused: subclasses, Parameters, handlers of views and detach.

Suspect objects/tensor/tensor_class.cpp, opyard/_nn/parameter.py, autograd/src/tape/tape.cpp and
autograd/src/plain_tape.cpp.
"""

import copy
import warnings

import numpy as np
import pytest
from leaves import single
from wrapped import Wrapped

import opyard
from opyard import Tensor, autograd, nn, optim
from opyard.dispatch import DispatchMode, ExcludeDispatchKeyGuard

aten = opyard.ops.aten


class Plain(Tensor):
    pass


class Handled(Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return super().__opyard_dispatch__(op, types, args, kwargs or {})


def square():
    return single([[1.0, 2.0], [3.0, 4.0]])


SUBCLASSES = [Plain, Handled, Tensor]
MADE = ["computed", "view", "leaf"]


@pytest.mark.parametrize("cls", SUBCLASSES)
@pytest.mark.parametrize("make", [lambda x: x * 2, lambda x: (x * 2).t(), lambda x: x], ids=MADE)
def test_E22_as_subclass_keeps_the_history(cls, make):
    x = square()
    made = make(x)
    other = made.as_subclass(cls)
    assert type(other) is cls and other.requires_grad and not other.is_leaf
    ((other * other).sum() + x.sum()).backward()
    expected = square()
    (make(expected) * make(expected)).sum().backward()
    assert x.grad.tolist() == (expected.grad + 1).tolist()


@pytest.mark.parametrize("cls", SUBCLASSES)
def test_E22_what_is_written_through_it_is_taped(cls):
    x = square()
    y = x * 2
    y.as_subclass(cls).mul_(3)
    y.sum().backward()
    assert x.grad.tolist() == [[6.0, 6.0], [6.0, 6.0]]
    with pytest.raises(ValueError, match="a view of a leaf Variable that requires grad"):
        square().as_subclass(cls).mul_(3)


@pytest.mark.parametrize("cls", SUBCLASSES)
def test_E22_without_gradients_it_has_none_and_is_not_written_with_them(cls):
    y = square() * 2
    with autograd.no_grad():
        other = y.as_subclass(cls)
    assert not other.requires_grad
    with pytest.raises(ValueError, match="a view that was made under no_grad"):
        other.mul_(3)
    assert not opyard.ones(2).as_subclass(cls).requires_grad


def test_E22_as_subclass_asks_no_handler():
    seen = []

    class Noting(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            seen.append(op.name())
            return op(*args, **(kwargs or {}))

    y = square() * 2
    with Noting():
        y.as_subclass(Handled).as_subclass(Plain)
    assert seen == []


@pytest.mark.parametrize("cls", [Plain, Handled, nn.Parameter])
@pytest.mark.parametrize("make", [lambda x: x * 2, lambda x: (x * 2)[0], lambda x: x], ids=MADE)
def test_E22_make_subclass_refuses_to_lose_it(cls, make):
    made = make(square())
    with pytest.raises(ValueError, match=r"data.as_subclass\(.*\) keeps it, and data.detach\(\)"):
        Tensor.make_subclass(cls, made)
    assert not Tensor.make_subclass(cls, made.detach()).requires_grad
    with autograd.no_grad():
        assert not Tensor.make_subclass(cls, made).requires_grad
    with ExcludeDispatchKeyGuard(opyard.dispatch.DispatchKey.AutogradFunctionality):
        assert not Tensor.make_subclass(cls, made).requires_grad


@pytest.mark.parametrize("cls", [Plain, Handled])
def test_E22_leaves_of_subclasses_are_copied_as_before(cls):
    made = opyard.ones(2).as_subclass(cls).requires_grad_()
    for other in (copy.copy(made), copy.deepcopy(made)):
        assert type(other) is cls and other.requires_grad and other.is_leaf


@pytest.fixture
def answers(monkeypatch):
    monkeypatch.setattr(Wrapped, "answers", {})
    return Wrapped.answers


def test_E22_a_parameter_of_a_wrapper_is_of_its_class():
    weight = nn.Parameter(Wrapped.of(opyard.tensor([1.0, 2.0])))
    assert type(weight) is Wrapped and isinstance(weight, nn.Parameter) and weight.requires_grad
    assert not isinstance(weight * 2, nn.Parameter)
    assert not isinstance(weight.detach(), nn.Parameter)
    module = nn.Module()
    module.weight = weight
    module.register_parameter("other", nn.Parameter(weight, requires_grad=False))
    assert [name for name, _ in module.named_parameters()] == ["weight", "other"]
    assert not module.other.requires_grad
    optimizer = optim.SGD([weight], lr=1.0)
    for _ in range(2):
        optimizer.zero_grad()
        (module.weight * 3).sum().backward()
        optimizer.step()
    assert weight.inner.tolist() == [-5.0, -4.0]


def test_E22_a_parameter_of_a_subclass_without_a_handler_is_of_its_class():
    weight = nn.Parameter(opyard.ones(2).as_subclass(Plain))
    assert type(weight) is Plain and isinstance(weight, nn.Parameter) and weight.is_leaf
    assert type(nn.Parameter(nn.Parameter(opyard.ones(2)))) is nn.Parameter


def test_E22_a_parameter_that_would_be_of_another_class_is_refused(answers):
    answers["aten::detach"] = lambda self: self.inner.detach()
    with pytest.raises(RuntimeError, match="return type Tensor was found instead"):
        nn.Parameter(Wrapped.of(opyard.ones(2)))

    class Own(nn.Parameter):
        pass

    with pytest.raises(TypeError, match="a tensor is of one class"):
        Own(opyard.ones(2).as_subclass(Plain))


def test_E22_a_module_that_is_converted_keeps_the_class_of_its_parameters(answers):
    module = nn.Module()
    module.weight = nn.Parameter(Wrapped.of(opyard.tensor([1.0, 2.0])))
    module.to(opyard.float64)
    assert type(module.weight) is Wrapped and module.weight.dtype is opyard.float64
    answers["aten::_to_copy"] = lambda self: self.inner.to(opyard.float32)
    with pytest.raises(RuntimeError, match="a parameter of the class Wrapped would become a plain"):
        module.to(opyard.float32)


class Through(DispatchMode):
    """Calls what it sees, as `call` says."""

    def __init__(self, call):
        self.call = call

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        return self.call(op, args, kwargs or {})


def without_gradients(op, args, kwargs):
    with autograd.no_grad():
        return op(*args, **kwargs)


def detached_first(op, args, kwargs):
    return op(*[a.detach() if isinstance(a, Tensor) else a for a in args], **kwargs)


CALLS = [lambda op, args, kwargs: op(*args, **kwargs), without_gradients, detached_first]
VIEWS = {
    "select": lambda y: y[0],
    "t": lambda y: y.t()[:, 0],
    "view": lambda y: y.view(4)[:2],
    "alias": lambda y: aten.alias(y)[0],
}


@pytest.mark.parametrize("call", CALLS, ids=["as it is", "no_grad", "detached"])
@pytest.mark.parametrize("view", VIEWS.values(), ids=list(VIEWS))
def test_G11_a_view_under_a_mode_is_a_view(call, view):
    x = square()
    y = x * 1
    with Through(call):
        seen = view(y)
    assert seen.requires_grad and seen.tolist() == [1.0, 2.0]
    seen.mul_(3)
    (y * y).sum().backward()
    assert x.grad.tolist() == [[18.0, 36.0], [6.0, 8.0]]
    with Through(call):
        seen = view(square())
    with pytest.raises(ValueError, match="a view of a leaf Variable"):
        seen.mul_(3)


def test_G11_a_view_that_a_mode_kept_has_the_history_of_each_call():
    kept = []

    def call(op, args, kwargs):
        kept.append(op(*args, **kwargs))
        return kept[0]

    x, other = square(), square()
    with Through(call):
        first = aten.view(x, [4])
        second = aten.view(other, [4])
    assert first is not second
    first.sum().backward()
    assert x.grad.tolist() == [[1.0, 1.0], [1.0, 1.0]] and other.grad is None


def test_E3_what_a_mode_gives_for_detach_has_no_history():
    y = square() * 1
    with Through(lambda op, args, kwargs: args[0]):
        other = y.detach()
    assert not other.requires_grad and other.data_ptr() == y.data_ptr() and y.requires_grad


def test_E3_nor_what_a_class_gives(answers):
    x = Wrapped.of(opyard.tensor([1.0, 2.0]), requires_grad=True)
    y = x * 1
    assert type(y.detach()) is Wrapped and not y.detach().requires_grad
    answers["aten::detach"] = lambda self: self
    assert Wrapped.of(opyard.ones(2)).detach() is not None
    with pytest.raises(RuntimeError, match="what is detached has no history"):
        y.detach()


def test_G11_a_view_of_a_wrapper_is_not_written_with_gradients():
    y = Wrapped.of(opyard.tensor([1.0, 2.0]), requires_grad=True) * 1
    view = y.view(2, 1)
    (view * view).sum().backward(keep_graph=True)
    with pytest.raises(ValueError, match="a view that the class of a wrapper gave"):
        view.mul_(3)
    with pytest.raises(ValueError, match="a view that the class of a wrapper gave"):
        view[0].mul_(3)
    with autograd.no_grad():
        view.mul_(3)
    assert y.inner.tolist() == [3.0, 6.0]
    view.clone().mul_(3)
    plain = Wrapped.of(opyard.ones(2))
    plain.view(2, 1).mul_(3)
    assert plain.inner.tolist() == [3.0, 3.0]


FROM_ARRAYS = {
    "one": lambda array, y: aten.mul(array, y),
    "list": lambda array, y: aten.split(aten.mul(y, array), 1, dim=-1)[0] + aten.cat([array, y])[0],
    "view": lambda array, y: aten.cat([array, y])[1:],
}


@pytest.mark.parametrize("make", FROM_ARRAYS.values(), ids=list(FROM_ARRAYS))
def test_F57_a_result_with_a_history_is_no_array(make):
    x = square()
    made = make(np.ones((2, 2), np.float32), x * 2)
    assert type(made) is Tensor and made.requires_grad
    made.sum().backward()
    assert x.grad is not None
    with autograd.no_grad():
        assert type(aten.mul(np.ones((2, 2), np.float32), x)) is np.ndarray


CACHED = {
    "a history": lambda other: other * 3,
    "a view's history": lambda other: (other * 3).view(2),
    "a leaf": lambda other: other,
}


@pytest.mark.parametrize("make", CACHED.values(), ids=CACHED)
def test_E22_a_wrapper_that_has_a_history_is_no_new_view(answers, make):
    x = Wrapped.of(opyard.tensor([1.0, 2.0]), requires_grad=True)
    other = Wrapped.of(opyard.tensor([1.0, 2.0]), requires_grad=True)
    cached = make(other)
    answers["aten::view"] = lambda self, size: cached
    answers["aten::unbind.int"] = lambda self, dim=0: [cached, cached]
    for call in (lambda: x.view(2), lambda: x.unbind(0)):
        with pytest.raises(RuntimeError, match="as a view, which has a history already, or req"):
            call()
    cached.sum().backward()
    assert x.grad is None and other.grad is not None


def test_E22_a_view_that_is_given_twice_is_refused_the_second_time(answers):
    x = Wrapped.of(opyard.tensor([1.0, 2.0]), requires_grad=True)
    cached = Wrapped.of(x.inner)
    answers["aten::view"] = lambda self, size: cached
    assert x.view(2) is cached
    with pytest.raises(RuntimeError, match="another wrapper of the inner tensor each time"):
        x.view(2)
    with autograd.no_grad():
        assert x.view(2) is cached


@pytest.mark.parametrize("make", CACHED.values(), ids=CACHED)
def test_E22_a_wrapper_that_is_no_view_keeps_its_history_beside_that_of_the_call(answers, make):
    x = Wrapped.of(opyard.tensor([1.0, 2.0]), requires_grad=True)
    other = Wrapped.of(opyard.tensor([1.0, 2.0]), requires_grad=True)
    cached = make(other)
    answers["aten::neg"] = lambda self: cached
    y = -x
    assert y is not cached and y.grad_fn.name() == "NegBackward"
    answers.clear()
    (y.sum() + cached.sum()).backward()
    assert x.grad.inner.tolist() == [-1.0, -1.0] and other.grad is not None


@pytest.mark.parametrize("mode", [autograd.no_grad, autograd.inference_mode])
def test_G11_a_view_without_gradients_of_a_wrapper_that_was_written_has_none(mode):
    x = Wrapped.of(opyard.ones(2), requires_grad=True)
    base = Wrapped.of(opyard.ones(2))
    first = base[:1]
    base.mul_(x)
    with mode():
        view = base[:1]
    assert not view.requires_grad and not view.sum().requires_grad and first._version == 1


def test_E22_a_view_of_a_view_that_was_made_without_gradients_is_not_written_with_them():
    x = Wrapped.of(opyard.ones(2), requires_grad=True)
    with autograd.no_grad():
        view = x[:1]
    for again in (view, view[:1], view.unsqueeze(0)):
        with pytest.raises(ValueError, match="a view that was made under no_grad"):
            again.mul_(x[:1])


def test_numbers_of_tensors_that_require_gradients_are_copied_with_a_warning():
    y = opyard.ones(2, requires_grad=True) * 2
    b = opyard.zeros(2)
    for copied in (
        lambda: opyard.tensor([y[0], y[1]]),
        lambda: b.__setitem__(slice(None), [y[0], y[1]]),
        lambda: b.__setitem__(0, [y[0]]),
    ):
        with pytest.warns(UserWarning, match=r"tensor: an element is a tensor that requires a"):
            copied()
    assert b.tolist() == [2.0, 2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        opyard.tensor([y[0].detach(), y[1].detach()])
        with opyard.no_grad():
            opyard.tensor([y[0], y[1]])
        with pytest.raises(UserWarning):
            opyard.tensor([y[0]])


@pytest.mark.parametrize("make", [opyard.from_dlpack, opyard.from_numpy])
def test_a_tensor_on_the_memory_of_one_with_a_history_is_asked_for(make):
    leaf = opyard.ones(2).requires_grad_()
    for x in (leaf, leaf * 2, nn.Parameter(opyard.ones(2))):
        with pytest.raises(ValueError, match=f"{make.__name__}: .* it requires a gradient"):
            make(x)
        assert make(x.detach()).data_ptr() == x.data_ptr()
        with opyard.no_grad():
            assert make(x).data_ptr() == x.data_ptr()
    plain = opyard.ones(2)
    assert make(plain).data_ptr() == plain.data_ptr()
