"""test_class_handlers.py: subclasses of Tensor with __opyard_dispatch__: who is asked, with what.

Suspect kernels/handlers.cpp, objects/tensor/tensor_class.cpp.
"""

import collections
import gc
import sys
import threading
import weakref

import pytest
from processes import clear_caches

import opyard
from opyard import Tensor
from opyard.dispatch import (
    DispatchMode,
    disabled_dispatch,
    get_current_dispatch_mode_stack,
    keys_of,
    no_dispatch,
    skip,
)
from opyard.testing import CallLog, LoggingTensor

calls = []


@pytest.fixture(autouse=True)
def forget():
    calls.clear()


class Holding(Tensor):
    """Notes that it was asked, and answers with what the operator gives below."""

    def __new__(cls, data):
        return Tensor.make_subclass(cls, data)

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        calls.append((cls.__name__, op, types, args, kwargs))
        return super().__opyard_dispatch__(op, types, args, kwargs)


class Other(Holding):
    pass


class Base(Holding):
    answer = NotImplemented

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        calls.append(cls.__name__)
        return cls.answer


class Left(Base):
    pass


class LeftLeft(Left):
    pass


class Right(Base):
    pass


@pytest.fixture
def f(define):
    return define(
        'f(Tensor x, Tensor? y=None, *, int n=1, str s="a") -> Tensor?',
        CPU=lambda x, y=None, *, n=1, s="a": x,
    )


# F42: what a handler gets -------------------------------------------------------------------


def test_F42_a_handler_gets_operator_types_and_the_caller_s_arguments(f, x):
    a = Holding(x)
    f(a)
    f(a, None, n=1, s="b")
    f(x, a, n=2)
    f(x=a, y=x)
    assert calls == [
        ("Holding", f.default, (Holding,), (a,), {}),
        ("Holding", f.default, (Holding,), (a,), {"s": "b"}),
        ("Holding", f.default, (Holding,), (x, a), {"n": 2}),
        ("Holding", f.default, (Holding,), (a, x), {}),
    ]
    assert calls[0][1] is f.default
    assert [type(call[3][0]) for call in calls] == [Holding, Holding, Tensor, Holding]
    assert calls[0][3][0] is a


def test_F42_types_are_distinct(f, x):
    f(Holding(x), Holding(x))
    assert calls[0][2] == (Holding,)


def test_F42_tensors_in_lists_count(define, x):
    op = define("g(Tensor[] x) -> Tensor[]", CPU=lambda x: x)
    a = Holding(x)
    op([x, a])
    assert [(call[2], call[3]) for call in calls] == [((Holding,), ([x, a],))]


def test_F42_only_classes_with_a_handler_count(f, x):
    class Plain(Tensor):
        pass

    plain = x.as_subclass(Plain)
    f(plain)
    f(Holding(x), plain)
    assert [call[2] for call in calls] == [(Holding,)]


def test_F42_instances_carry_the_key(x):
    class Plain(Tensor):
        pass

    class Off(Holding):
        __opyard_dispatch__ = disabled_dispatch

    assert keys_of(Holding(x)).has("Python")
    assert not keys_of(x.as_subclass(Plain)).has("Python")
    assert not keys_of(x.as_subclass(Off)).has("Python")
    assert not keys_of(Holding(x).as_subclass(Tensor)).has("Python")


def test_F42_calls_from_cpp_ask_too(plugin, define, x):
    g = define("g(Tensor x) -> Tensor", CPU=lambda x: x)
    a = Holding(x)
    assert plugin.call(g.default.name(), a) is a
    assert [call[1:4] for call in calls] == [(g.default, (Holding,), (a,))]
    assert calls[0][3][0] is a


def test_F42_a_handler_that_is_no_class_method_is_refused(f, x):
    class Wrong(Holding):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            pass

    with pytest.raises(TypeError) as caught:
        f(Wrong(x))
    assert str(caught.value) == (
        "__opyard_dispatch__ of the class Wrong has to be a class method: it is called with the "
        "class, and not with a tensor"
    )


# F43: order ---------------------------------------------------------------------------------

# The arguments' classes, and the order in which they are asked.
ORDERS = {
    "left to right": ((Left, Right), ["Left", "Right"]),
    "right to left": ((Right, Left), ["Right", "Left"]),
    "subclass first": ((Base, Left), ["Left", "Base"]),
    "grandchild first": ((Base, LeftLeft), ["LeftLeft", "Base"]),
    "each once": ((Left, Left), ["Left"]),
    "before its own only": ((Right, Base), ["Right", "Base"]),
    "chain": ((Base, Left, LeftLeft), ["LeftLeft", "Left", "Base"]),
    "siblings and base": ((Base, Right, Left), ["Right", "Left", "Base"]),
    "others stay in place": ((Right, Base, LeftLeft, Left), ["Right", "LeftLeft", "Left", "Base"]),
}


@pytest.mark.parametrize("name", ORDERS)
def test_F43_subclasses_go_first_else_from_left_to_right(define, ns, x, name):
    classes, order = ORDERS[name]
    op = define("g(Tensor[] x) -> Tensor")
    with pytest.raises(TypeError) as caught:
        op([cls(x) for cls in classes])
    assert calls == order
    assert str(caught.value) == (
        f"no implementation found for '{ns}::g' on types that implement __opyard_dispatch__: "
        f"[{', '.join(order)}]; each of them returned NotImplemented.\n"
        f"Declaration: {ns}::g(Tensor[] x) -> Tensor"
    )


def test_F43_the_first_answer_counts(f, x):
    class Answers(Base):
        answer = x

    assert f(Left(x), Answers(x)) is x
    assert calls == ["Left", "Answers"]


def test_F43_modes_go_first_and_are_named(f, ns, x):
    class Declines(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            calls.append(types)
            return NotImplemented

    with Declines(), pytest.raises(TypeError) as caught:
        f(Left(x))
    assert calls == [(Left,), "Left"]
    assert (
        f"no implementation found for '{ns}::f' on types that implement __opyard_dispatch__: [Left]"
        ", nor in the active modes: [Declines]; each of them returned NotImplemented.\n"
    ) in str(caught.value)


def test_F43_a_mode_that_declined_sees_what_the_class_calls(f, x):
    class Plain(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            if types:
                return NotImplemented
            calls.append("mode")
            return op(*args)

    class Unwraps(Base):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            assert get_current_dispatch_mode_stack() == [mode]
            return op(*[a.as_subclass(Tensor) for a in args])

    with Plain() as mode:
        f(Unwraps(x))
    assert calls == ["mode"]


# F44: switching off, and layers above -------------------------------------------------------


def test_F44_a_class_without_a_handler_of_its_own_calls_below(f, x):
    class Off(Holding):
        __opyard_dispatch__ = disabled_dispatch

    off = Off(x)
    assert f(off) is off
    assert calls == []
    f(Holding(x), off)
    assert [call[2] for call in calls] == [(Holding,)]


def test_F44_the_disabled_handler_may_be_called(f, x):
    a = Holding(x)
    assert disabled_dispatch(f.default, (Holding,), (a,), {"n": 2}) is a
    assert disabled_dispatch(f.default, (), (a,)) is a
    assert calls == []
    with pytest.raises(TypeError, match=r"disabled_dispatch\(\) takes \(op, types"):
        disabled_dispatch(f.default)


@pytest.mark.parametrize("args", [list, tuple, iter], ids=["list", "tuple", "iterator"])
def test_F44_a_handler_may_hand_on_its_arguments_in_any_sequence(f, x, args):
    class HandsOn(Holding):
        @classmethod
        def __opyard_dispatch__(cls, op, types, given=(), kwargs=None):
            return super(Holding, cls).__opyard_dispatch__(op, types, args(given), kwargs)

    if args is iter:
        with pytest.raises(
            TypeError, match="args is a tuple_iterator; accepted is a tuple or list"
        ):
            f(HandsOn(x))
    else:
        a = HandsOn(x)
        assert f(a) is a


@pytest.mark.parametrize(
    "args", [3, None, "ab", {}, {1, 2}, object()], ids=lambda a: type(a).__name__
)
def test_F44_what_is_no_sequence_of_arguments_is_refused(f, args):
    with pytest.raises(TypeError, match=f"args is a {type(args).__name__}; accepted is a tuple or"):
        disabled_dispatch(f.default, (), args)


def test_F44_a_handler_may_hand_on_its_kwargs_in_any_mapping(f, x):
    a = Holding(x)
    for kwargs in ({"n": 2}, collections.UserDict(n=2), collections.OrderedDict(n=2), None):
        assert disabled_dispatch(f.default, (Holding,), [a], kwargs) is a
    for kwargs in (3, [("n", 2)], "ab", object()):
        with pytest.raises(
            TypeError, match=f"kwargs is a {type(kwargs).__name__}; accepted is a dict"
        ):
            disabled_dispatch(f.default, (Holding,), [a], kwargs)
    with pytest.raises(TypeError):
        disabled_dispatch(f.default, (Holding,), [a], {1: 2})
    with pytest.raises(TypeError, match="not callable"):
        disabled_dispatch(3, (Holding,), [a])
    assert calls == []


def test_F44_no_dispatch_switches_handlers_off(f, x):
    a = Holding(x)
    with no_dispatch():
        assert f(a) is a
    assert calls == []
    f(a)
    assert len(calls) == 1


def test_F44_skip_leaves_layers_out(f, library, x):
    a = Holding(x)
    seen = []
    library.impl("f", lambda *a, **k: seen.append("autograd") or x, "AutogradCPU")
    f(a)
    assert seen == ["autograd"]
    with skip("AutogradFunctionality"):
        f(a)
        assert len(calls) == 1
        with skip("Python", "OnTop1"):
            f(a)
    assert len(calls) == 1
    assert seen == ["autograd"]


def test_F44_a_handler_runs_below_autograd(f, library, x):
    seen = []

    def autograd(keys, x, *rest, **named):
        seen.append("autograd")
        return f.default.redispatch(keys & below, x, *rest, **named)

    below = opyard.dispatch.DispatchKeySet(["CPU", "Python", "BackendSelect"])
    library.impl("f", autograd, "AutogradCPU", with_keyset=True)

    class Again(Holding):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            seen.append("handler")
            return op(args[0].as_subclass(Tensor))  # not a second time through autograd

    f(Again(x))
    assert seen == ["autograd", "handler"]


# F45, F46: errors and results ---------------------------------------------------------------


def test_F45_exceptions_propagate_unchanged(f, x):
    error = KeyError("k")

    class Raises(Holding):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            raise error

    with pytest.raises(KeyError) as caught:
        f(Raises(x))
    assert caught.value is error


def test_F46_a_wrong_result_names_operator_class_and_position(f, ns, x):
    class Arf(Base):
        answer = "arf"

    with pytest.raises(RuntimeError) as caught:
        f(Arf(x))
    assert str(caught.value).startswith(
        f"{ns}::f: __opyard_dispatch__ of the class Arf returned a value of type 'str' for result "
        "0, but the schema says 'Tensor?'."
    )


def test_F46_lists_may_come_as_tuples(define, x):
    class Pair(Holding):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return (x, args[0])

    op = define("g(Tensor x) -> Tensor[]")
    a = Pair(x)
    result = op(a)
    assert isinstance(result, list)
    assert result[0] is x and result[1] is a


# F54, E3: detach ----------------------------------------------------------------------------


class Counted(Holding):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        calls.append(op.name())
        return cls(op(*[a.as_subclass(Tensor) for a in args], **kwargs or {}))


@pytest.mark.parametrize("way", [lambda a: a.detach(), opyard.ops.aten.detach])
def test_E3_F54_one_detach_reaches_the_handler_and_gives_a_fresh_wrapper(way, x):
    a = Counted(x)
    b = way(a)
    assert calls == ["aten::detach"]
    assert type(b) is Counted
    assert b is not a
    assert b.data_ptr() == a.data_ptr()


# E4 and lookups -----------------------------------------------------------------------------


def test_a_handler_may_be_replaced_later(f, x):
    class Changing(Base):
        answer = x

    a = Changing(x)
    f(a)
    assert calls == ["Changing"]
    Changing.__opyard_dispatch__ = classmethod(lambda cls, *rest: calls.append("new"))
    f(a)
    assert calls == ["Changing", "new"]
    Changing.__opyard_dispatch__ = disabled_dispatch
    f(a)
    assert calls == ["Changing", "new"]
    del Changing.__opyard_dispatch__
    f(a)
    assert calls == ["Changing", "new", "Changing"]


def test_a_base_s_handler_may_be_replaced_later(f, x):
    class Top(Base):
        answer = x

    class Bottom(Top):
        pass

    f(Top(x))
    f(Bottom(x))
    Top.__opyard_dispatch__ = classmethod(lambda cls, *rest: calls.append("new " + cls.__name__))
    f(Bottom(x))
    f(Top(x))
    assert calls == ["Top", "Bottom", "new Bottom", "new Top"]


def test_a_handler_may_be_any_callable_that_binds(f, x):
    class Method:
        def __get__(self, instance, owner):
            return lambda op, types, args, kwargs: calls.append((owner.__name__, kwargs))

    class Bound(Holding):
        __opyard_dispatch__ = Method()

    f(Bound(x))
    assert calls == [("Bound", {})]


def test_a_class_with_a_handler_can_be_collected(f, x):
    class Gone(Base):
        answer = x

    f(Gone(x))
    dead = weakref.ref(Gone)
    del Gone
    gc.collect()
    assert dead() is None


@pytest.mark.parametrize(
    "value",
    [(), (1,), 3, [1, 2, 3], (None, None, None), (None, None, ()), (None, 5, (5,)), "abc"],
    ids=repr,
)
def test_an_attribute_of_the_name_that_opyard_uses_is_left_alone(f, x, value):
    class Taken(Base):
        answer = x

    Taken.__opyard_handler__ = value

    class Below(Taken):
        pass

    for cls in (Taken, Below, Taken):
        f(cls(x))
    assert calls == ["Taken", "Below", "Taken"]
    assert Below.__opyard_handler__ is Taken.__opyard_handler__ is value


def test_a_class_may_be_made_of_the_dictionary_of_another(f, x):
    class First(Base):
        answer = x

    f(First(x))
    again = type(Base)(
        "Second", (Base,), {k: v for k, v in vars(First).items() if k[:6] != "__dict"}
    )
    f(again(x))
    f(First(x))
    assert calls == ["First", "Second", "First"]


def test_a_class_that_takes_no_attributes_still_has_its_handler(f, x):
    class Frozen(type(Tensor)):
        def __setattr__(cls, name, value):
            raise cls.refusal

    class Stubborn(Base, metaclass=Frozen):
        answer = x
        refusal = AttributeError("frozen")

    class Interrupted(Base, metaclass=Frozen):
        answer = x
        refusal = KeyboardInterrupt()

    f(Stubborn(x))
    assert calls == ["Stubborn"]
    with pytest.raises(KeyboardInterrupt):
        f(Interrupted(x))


def test_handlers_are_found_after_cpython_forgot_the_versions_of_types(f, x):
    """On 3.10 it counts anew then, so that a type gets a number that another had."""
    for n in range(300):
        clear_caches()
        cls = type(Tensor)(f"Class{n}", (Base,), {"answer": x})
        a = cls(x)
        f(a)
        f(a)
        cls.__opyard_dispatch__ = classmethod(lambda cls, *rest, n=n: calls.append(n))
        clear_caches()
        f(a)
        assert calls == [cls.__name__, cls.__name__, n]
        calls.clear()
        del a, cls
        gc.collect(1)


def test_threads_ask_too(f, x):
    a = Holding(x)
    thread = threading.Thread(target=f, args=(a,))
    thread.start()
    thread.join()
    assert len(calls) == 1


def test_an_exception_on_its_way_survives_the_end_of_an_instance(x):
    with pytest.raises(TypeError, match="takes exactly one argument"):
        len(1, Holding(x))


def test_references_are_balanced(f, x):
    class Quiet(Base):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return args[0]

    a = Quiet(x)
    kinds = [a, Quiet, f.default, Quiet.__dict__["__opyard_dispatch__"]]
    f(a)
    before = [sys.getrefcount(kind) for kind in kinds]
    for _ in range(100):
        f(a, n=2)
    assert [sys.getrefcount(kind) for kind in kinds] == before


# F55 ----------------------------------------------------------------------------------------


def test_F55_logging_tensor_writes_its_calls_down():
    log = CallLog()
    x = LoggingTensor(opyard.tensor([1.0, 2.0]), log)
    log.input("x", x)
    y = x * x
    y.sum()
    assert type(y) is LoggingTensor
    assert y.held.tolist() == [1.0, 4.0]
    assert log.lines == [
        "$0 = input('x')",
        "$1 = opyard.ops.aten.mul.Tensor($0, $0)",
        "$2 = opyard.ops.aten.sum.default($1)",
    ]


class Closed(type(Tensor)):
    def __setattr__(cls, name, value):
        raise AttributeError(name)


class Deaf(type(Tensor)):
    def __setattr__(cls, name, value):
        pass


@pytest.mark.parametrize("meta", [Closed, Deaf])
def test_F42_classes_that_take_no_attributes(meta, library, x):
    class Own(Tensor, metaclass=meta):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return types, args[0]

    library.define("pair(Tensor x) -> (Any, Tensor)")
    own = Tensor.make_subclass(Own, x)
    op = getattr(opyard.ops, library.ns).pair.default
    for _ in range(50):
        types, back = op(own)
        assert types == (Own,)
        assert back is own
        opyard.tensor([1.0])  # so that freed memory is used again
