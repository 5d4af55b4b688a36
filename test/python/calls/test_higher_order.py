"""test_higher_order.py: operators that take functions, dispatched without a schema.

Suspect opyard/_dispatch/higher_order.py.
"""

import pytest

import opyard
from opyard import Tensor
from opyard.dispatch import (
    DispatchMode,
    ExcludeDispatchKeyGuard,
    HigherOrderOperator,
    IncludeDispatchKeyGuard,
    get_current_dispatch_mode_stack,
)

seen = []


class Mode(DispatchMode):
    pass


class Knowing(DispatchMode):
    supports_higher_order_operators = True

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        seen.append((op, types, args, kwargs))
        return "knowing"


class Class(Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        raise AssertionError


class KnowingClass(Class):
    supports_higher_order_operators = True

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        seen.append((op, types, args, kwargs))
        return NotImplemented


@pytest.fixture(autouse=True)
def forget():
    seen.clear()


@pytest.fixture
def op():
    return HigherOrderOperator("op")


def says(name):
    return lambda *args, **kwargs: name


# The keys at which functions are registered, the keys of the call, and which one runs.
ROUTES = [
    (["CPU"], ["CPU"], "CPU"),
    (["CPU", "Meta"], ["CPU", "Meta"], "Meta"),
    (["CompositeExplicitAutograd"], ["CPU"], "CompositeExplicitAutograd"),
    (["CompositeExplicitAutograd", "CPU"], ["CPU"], "CPU"),
    (["CompositeImplicitAutograd"], ["CPU", "AutogradCPU"], "CompositeImplicitAutograd"),
    (["CPU", "Autograd"], ["CPU", "AutogradCPU"], "Autograd"),
    (["CPU", "AutogradCPU"], ["CPU", "AutogradCPU"], "AutogradCPU"),
    (["CPU"], ["CPU", "AutogradCPU"], "CPU"),
    (["CPU"], ["CPU", "Tracer", "OnTop1"], "CPU"),
    (["CPU", "Tracer"], ["CPU", "Tracer"], "Tracer"),
    (["CompositeExplicitAutograd"], [], "CompositeExplicitAutograd"),
]


@pytest.mark.parametrize(("registered", "keys", "runs"), ROUTES)
def test_F41_the_highest_key_that_is_served(op, registered, keys, runs):
    for key in registered:
        op.py_impl(key)(says(key))
    assert op.redispatch(opyard.dispatch.DispatchKeySet(keys)) == runs


def test_F41_keys_come_from_all_tensors_and_from_the_thread(op, x):
    op.py_impl("AutogradCPU")(says("AutogradCPU"))
    op.py_impl("CompositeExplicitAutograd")(says("none"))
    op.py_impl("OnTop1")(says("OnTop1"))
    for args in ([x], [[1, (x,)]], [{"a": [x]}]):
        assert op(*args) == "AutogradCPU"
    assert op(a={"b": x}) == "AutogradCPU"
    assert op(1, "text") == "none"
    with IncludeDispatchKeyGuard("OnTop1"):
        assert op(x) == "OnTop1"
        with ExcludeDispatchKeyGuard("OnTop1"):
            assert op(x) == "AutogradCPU"


def test_F41_arguments_pass_as_they_are(op, x):
    op.py_impl("CPU")(lambda *args, **kwargs: (args, kwargs))
    args, kwargs = op(len, [x], a=x)
    assert args == (len, [x]) and args[1][0] is x and kwargs["a"] is x


def test_F41_fallthrough_passes_a_key_by(op, x):
    op.py_impl("AutogradCPU")(says("AutogradCPU"))
    op.py_impl("CPU")(says("CPU"))
    op.fallthrough("AutogradCPU")
    assert op(x) == "CPU"
    op.py_impl("AutogradCPU")(says("again"))
    assert op(x) == "again"


def test_F41_nothing_there(op, x):
    with pytest.raises(NotImplementedError) as caught:
        op(x)
    assert str(caught.value) == (
        "could not find kernel for op at dispatch key CPU: register a function there, or "
        "at CompositeExplicitAutograd for all backends"
    )
    assert repr(op) == "<HigherOrderOperator('op')>"
    assert op.name() == "op"


def test_F41_modes_need_a_rule(op, x):
    op.py_impl("CPU")(says("CPU"))
    with Mode() as mode:
        with pytest.raises(NotImplementedError) as caught:
            op(x)
        assert get_current_dispatch_mode_stack() == [mode]
    assert str(caught.value) == (
        "op has no rule for the mode Mode. Register one with op.py_impl(Mode), or set "
        "supports_higher_order_operators = True in Mode where its __opyard_dispatch__ takes this "
        "operator like any other"
    )


def test_F41_a_rule_gets_the_mode_which_is_away_meanwhile(op, x):
    op.py_impl("CPU")(says("CPU"))

    @op.py_impl(Mode)
    def rule(mode, x, *, n):
        seen.append((mode, n, get_current_dispatch_mode_stack()))
        return op(x)

    with Mode() as outer, Mode() as inner:
        rule_result = None
        with pytest.raises(TypeError):
            op(x)  # the rule wants n
        assert get_current_dispatch_mode_stack() == [outer, inner]

    op.py_impl(Mode)(lambda mode, x: seen.append(get_current_dispatch_mode_stack()) or op(x))
    with Mode() as outer, Mode() as inner:
        rule_result = op(x)
    assert rule_result == "CPU"
    assert seen == [[outer], []]


def test_F41_a_mode_may_take_them_like_any_other(op, x):
    with Knowing():
        assert op(x, n=1) == "knowing"
    assert seen == [(op, (), (x,), {"n": 1})]


def test_F41_classes_need_a_rule_too(op, x):
    op.py_impl("CPU")(says("CPU"))
    a = Tensor.make_subclass(Class, x)
    with pytest.raises(NotImplementedError, match="op has no rule for the tensor class Class"):
        op([a])
    op.py_impl(Class)(lambda items, **kwargs: (items, kwargs))
    assert op([a], n=1) == ([a], {"n": 1})


def test_F41_all_not_implemented(op, x):
    op.py_impl(Mode)(says(NotImplemented))
    op.py_impl(Class)(says(NotImplemented))
    a, b = Tensor.make_subclass(Class, x), Tensor.make_subclass(KnowingClass, x)
    with Mode(), pytest.raises(TypeError) as caught:
        op(a, [b, x])
    assert str(caught.value) == (
        "no implementation found for op: modes [Mode] and inputs of types "
        "[Class, KnowingClass, Tensor] were asked, and each of them returned NotImplemented"
    )
    assert [types for _, types, _, _ in seen] == [(KnowingClass, Class)]


def test_F41_what_py_impl_refuses(op):
    with pytest.raises(TypeError, match="not <class 'int'>"):
        op.py_impl(int)(print)
    with pytest.raises(LookupError):
        op.py_impl("Nowhere")(print)
