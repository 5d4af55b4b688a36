"""test_modes.py: dispatch modes: their order, their scope, and the state afterwards.

Suspect kernels/handlers.cpp, kernels/modes.cpp, opyard/_dispatch/modes.py, then
dispatcher/src/thread/modes.cpp.
"""

import sys
import traceback
import weakref

import pytest

import opyard
from opyard.dispatch import (
    DispatchMode,
    ModeKey,
    disable_current_modes,
    get_current_dispatch_mode,
    get_current_dispatch_mode_stack,
    get_mode,
    len_dispatch_mode_stack,
    pop_mode,
    pop_mode_temporarily,
    push_mode,
    tls_is_dispatch_key_included,
)
from opyard.testing import LoggingMode


class Through(DispatchMode):
    """Notes each call, and lets it through."""

    def __init__(self, name, calls):
        self.name, self.calls = name, calls

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        self.calls.append(f"{self.name}{op.name().partition('::')[2]}")
        return op(*args, **(kwargs or {}))


class Answering(DispatchMode):
    """Answers each call with a value, or raises it."""

    def __init__(self, answer):
        self.answer = answer

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        if isinstance(self.answer, BaseException):
            raise self.answer
        return self.answer


@pytest.fixture
def f(define):
    """f(x) gives x."""
    return define("f(Tensor x) -> Tensor", CPU=lambda x: x)


@pytest.fixture(autouse=True)
def balanced():
    """No test leaves a mode or the key behind."""
    yield
    assert len_dispatch_mode_stack() == 0
    assert not tls_is_dispatch_key_included("Python")


# F48: order ---------------------------------------------------------------------------------


def test_F48_innermost_mode_first(f, x):
    calls = []
    with Through("A.", calls), Through("B.", calls):
        assert f(x) is x
    assert calls == ["B.f", "A.f"]
    f(x)
    assert calls == ["B.f", "A.f"]


def test_F48_a_mode_is_away_while_its_handler_runs(f, x):
    seen = []

    class Looking(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            seen.append(get_current_dispatch_mode_stack())
            return op(*args)

    with Looking() as outer, Looking() as inner:
        f(x)
        assert get_current_dispatch_mode_stack() == [outer, inner]
    assert seen == [[outer], []]


def test_F48_modes_are_back_after_an_exception(f, x):
    with Answering(KeyError("k")) as outer, Through("", []) as inner:
        for _ in range(2):
            with pytest.raises(KeyError):
                f(x)
            assert get_current_dispatch_mode_stack() == [outer, inner]


def test_F48_an_exception_leaves_the_block(f, x):
    with pytest.raises(ZeroDivisionError), Through("", []):
        raise ZeroDivisionError
    assert len_dispatch_mode_stack() == 0


def test_F48_the_key_is_there_only_while_a_mode_is(f, x):
    assert not tls_is_dispatch_key_included("Python")
    with Through("", []):
        assert tls_is_dispatch_key_included("Python")
        with disable_current_modes():
            assert not tls_is_dispatch_key_included("Python")
    assert not tls_is_dispatch_key_included("Python")


def test_F48_a_key_that_a_guard_put_there_stays(f, x):
    with opyard.dispatch.IncludeDispatchKeyGuard("Python"):
        assert f(x) is x  # no one answers: the call goes on below
        with Through("", []):
            pass
        assert tls_is_dispatch_key_included("Python")


def test_F48_leaving_a_mode_that_is_not_there(f):
    mode = Through("", [])
    mode.__enter__()
    assert pop_mode() is mode
    with pytest.raises(RuntimeError, match="this thread left a Through that it is not in"):
        mode.__exit__(None, None, None)


def test_F48_a_block_leaves_its_own_mode_whatever_lies_above(f, x):
    one, other = Through("1.", []), Through("2.", [])
    with one:
        push_mode(other)
    assert get_current_dispatch_mode_stack() == [other]
    pop_mode()


def test_F48_modes_see_calls_from_cpp(plugin, f, x):
    calls = []
    with Through("", calls):
        plugin.call(f.default.name(), x)
    assert calls == ["f"]  # call() itself is a composite kernel, which runs above the modes


def test_F48_a_mode_is_below_autograd_and_above_the_backend(library, x):
    library.define("g(Tensor x) -> Tensor")
    route = []
    library.impl("g", lambda x: route.append("CPU") or x, "CPU")

    def autograd(keys, x):
        route.append("AboveAutograd1")
        below = keys - opyard.dispatch.DispatchKeySet("AboveAutograd1")
        return g.default.redispatch(below, x)

    library.impl("g", autograd, "AboveAutograd1", with_keyset=True)
    g = getattr(opyard.ops, library.ns).g
    with opyard.dispatch.IncludeDispatchKeyGuard("AboveAutograd1"), Through("mode ", route):
        g(x)
    assert route == ["AboveAutograd1", "mode g", "CPU"]


# F49: answers -------------------------------------------------------------------------------


def test_F49_the_base_class_has_no_handler(f, x):
    class Empty(DispatchMode):
        pass

    with pytest.raises(NotImplementedError) as caught, Empty():
        f(x)
    assert str(caught.value) == (
        "Empty is a DispatchMode without an __opyard_dispatch__ of its own"
    )


def test_F49_not_implemented_moves_on_to_the_next_mode(f, x):
    calls = []
    with Through("A.", calls), Answering(NotImplemented), Through("C.", calls):
        assert f(x) is x
    assert calls == ["C.f", "A.f"]


def test_F49_all_not_implemented_is_a_type_error(f, x, ns):
    with Answering(NotImplemented), Answering(NotImplemented) as inner:
        with pytest.raises(TypeError) as caught:
            f(x)
        assert get_current_dispatch_mode() is inner
    assert str(caught.value) == (
        f"no implementation found for '{ns}::f' on types that implement __opyard_dispatch__: [], "
        "nor in the active modes: [Answering, Answering]; each of them returned NotImplemented.\n"
        f"Declaration: {ns}::f(Tensor x) -> Tensor"
    )


# The answers that a schema refuses: result types, what came, how the error begins.
REFUSED = {
    "number for tensor": ("Tensor", 3, "a value of type 'int' for result 0"),
    "text for tensor": ("Tensor", "arf", "a value of type 'str' for result 0"),
    "one of two": ("(Tensor, Tensor)", (None,), "1 values, but the schema has 2 results"),
    "no sequence": ("(Tensor, Tensor)", 7, "a value of type 'int', but the schema has 2 results"),
    "second": ("(Tensor?, int)", (None, "a"), "a value of type 'str' for result 1"),
    "no tensor": ("(int, Tensor)", (1, None), "a value of type 'NoneType' (a result that may be"),
    "something for nothing": ("()", 1, "a value of type 'int', but the schema has no result"),
    "number too large": ("int", 1 << 64, "a value of type 'int' with a number outside of"),
    "element": ("Tensor[]", [[], 1], "a value of type 'list' with a 'list' at [0] for result 0"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_F49_F46_a_wrong_result_names_operator_handler_and_position(define, ns, name):
    results, answer, text = REFUSED[name]
    op = define(f"g() -> {results}")
    with pytest.raises(RuntimeError) as caught, Answering(answer):
        op()
    message = str(caught.value)
    assert message.startswith(f"{ns}::g: __opyard_dispatch__ of the mode Answering returned ")
    assert text in message
    assert message.endswith(f"\nDeclaration: {ns}::g() -> {results}")


# The answers that a schema takes: result types, what came, what the caller gets.
TAKEN = {
    "nothing": ("()", None, None),
    "undefined tensor": ("Tensor?", None, None),
    "list for list": ("int[]", [1, 2], [1, 2]),
    "tuple for list": ("int[]", (1, 2), [1, 2]),
    "several as a list": ("(int, str)", [1, "a"], (1, "a")),
    "several as a tuple": ("(int, str)", (1, "a"), (1, "a")),
}


@pytest.mark.parametrize("name", TAKEN)
def test_F46_list_and_tuple_are_taken(define, name):
    results, answer, result = TAKEN[name]
    op = define(f"g() -> {results}")
    with Answering(answer):
        assert op() == result


def test_F45_exceptions_arrive_as_the_same_object_with_traceback(f, x):
    error = KeyError("k")
    with pytest.raises(KeyError) as caught, Through("", []), Answering(error):
        f(x)
    assert caught.value is error
    names = [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]
    assert names[-1] == "__opyard_dispatch__"


# F42, D16: what a handler gets --------------------------------------------------------------


class CallLog(DispatchMode):
    def __init__(self):
        self.calls = []

    def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
        self.calls.append((op, types, args, kwargs))


class WantsKwargs(DispatchMode):
    def __opyard_dispatch__(self, op, types, args, kwargs):
        self.got = kwargs


@pytest.mark.parametrize(
    ("given", "named", "args", "kwargs"),
    [
        ((1,), {}, (1,), {}),
        ((1, 2), {}, (1,), {}),
        ((1, 3), {}, (1, 3), {}),
        ((), {"a": 1, "b": 3}, (1, 3), {}),
        ((1,), {"c": 5}, (1,), {}),
        ((1,), {"c": 6}, (1,), {"c": 6}),
        ((1, 3), {"d": "y", "c": 6}, (1, 3), {"c": 6, "d": "y"}),
    ],
)
def test_F42_D16_arguments_are_what_a_kernel_gets(define, given, named, args, kwargs):
    op = define('g(int a, int b=2, *, int c=5, str d="x") -> ()')
    with CallLog() as mode:
        op(*given, **named)
    assert mode.calls == [(op.default, (), args, kwargs)]
    assert mode.calls[0][0] is op.default


def test_F42_a_handler_without_a_default_for_kwargs_gets_a_dictionary(define):
    op = define("g(*, int a=1) -> ()")
    with WantsKwargs() as mode:
        op()
        first = mode.got
        op()
        assert first == mode.got == {}
        assert first is not mode.got
        op(a=2)
        assert mode.got == {"a": 2}


def test_F42_a_handler_may_be_any_callable(define):
    op = define("g(int a) -> int")

    class Static(DispatchMode):
        @staticmethod
        def __opyard_dispatch__(op, types, args, kwargs):
            return args[0] + len(kwargs)

    class Callable(DispatchMode):
        def __opyard_dispatch__(self, op, types, *rest):
            return rest[0][0] * 2 + len(rest[1])

    with Static():
        assert op(3) == 3
    with Callable():
        assert op(3) == 6


# F47: operators without tensors -------------------------------------------------------------


def test_F47_factories_go_to_modes(define):
    op = define("make(int n) -> Tensor", CPU=None.__class__)
    made = opyard.tensor([1.0])
    with Answering(made):
        assert op(3) is made


# F50: looking at the stack ------------------------------------------------------------------


def test_F50_current_mode_and_stack(f):
    assert get_current_dispatch_mode() is None
    assert get_current_dispatch_mode_stack() == []
    with Through("", []) as a, Through("", []) as b:
        assert get_current_dispatch_mode() is b
        assert get_current_dispatch_mode_stack() == [a, b]
        assert len_dispatch_mode_stack() == 2


def test_F50_push_and_pop(f, x):
    calls = []
    mode = Through("", calls)
    push_mode(mode)
    f(x)
    assert pop_mode() is mode
    f(x)
    assert calls == ["f"]


def test_F50_pop_of_an_empty_stack():
    for call in (pop_mode, pop_mode_temporarily().__enter__):
        with pytest.raises(RuntimeError) as caught:
            call()
        assert str(caught.value) == "Trying to pop empty mode stack"


def test_F50_only_what_has_a_handler_is_a_mode():
    with pytest.raises(TypeError, match="a mode has a method __opyard_dispatch__, and 3 has none"):
        push_mode(3)


def test_F50_popping_temporarily(f, x):
    calls = []
    with Through("A.", calls) as a, Through("B.", calls) as b:
        with pytest.raises(ValueError), pop_mode_temporarily() as popped:
            assert popped is b
            assert get_current_dispatch_mode_stack() == [a]
            f(x)
            raise ValueError
        f(x)
    assert calls == ["A.f", "B.f", "A.f"]


def test_F50_disabling_all(f, x):
    calls = []
    with Through("A.", calls) as a, Through("B.", calls) as b:
        with disable_current_modes() as disabled:
            assert disabled == [a, b]
            f(x)
            with Through("C.", calls):
                f(x)
        assert get_current_dispatch_mode_stack() == [a, b]
    assert calls == ["C.f"]


# F51: fixed places --------------------------------------------------------------------------


def fixed(key, calls):
    class Fixed(Through):
        mode_key = key

    return Fixed(f"{key.name}.", calls)


def test_F51_fixed_places_lie_below_the_modes_of_users(f, x):
    calls = []
    with (
        fixed(ModeKey.FUNCTIONAL, calls),
        Through("user.", calls),
        fixed(ModeKey.FAKE, calls),
        fixed(ModeKey.PROXY, calls) as proxy,
    ):
        f(x)
        assert get_mode(ModeKey.PROXY) is proxy
    assert calls == ["user.f", "FUNCTIONAL.f", "PROXY.f", "FAKE.f"]
    assert get_mode(ModeKey.PROXY) is None


@pytest.mark.parametrize("key", ModeKey)
def test_F51_each_fixed_place_holds_one(key, f, x):
    calls = []
    names = {"FAKE": "Fake", "PROXY": "Proxy", "FUNCTIONAL": "Functional"}
    with fixed(key, calls):
        with pytest.raises(RuntimeError) as caught:
            fixed(key, calls).__enter__()
        f(x)
    assert len(calls) == 1
    assert str(caught.value) == (
        f"this thread has a mode at the fixed place {names[key.name]} already, which holds one; "
        "leave that one first, or take it away for a while"
    )


# F52: the same instance again ---------------------------------------------------------------


def test_F52_one_instance_may_be_entered_twice(f, x):
    calls = []
    mode = Through("", calls)
    with mode:
        with mode:
            f(x)
        assert calls == ["f", "f"]
        f(x)
    assert calls == ["f", "f", "f"]


def test_F52_a_handler_may_enter_its_own_mode(f, x):
    class Again(DispatchMode):
        count = 0

        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            self.count += 1
            if self.count == 1:
                with self:
                    op(*args)
            return op(*args)

    with Again() as mode:
        f(x)
    assert mode.count == 2


def test_F52_push_is_no_longer_necessary():
    with pytest.warns(DeprecationWarning) as warned, Through.push("p", []) as mode:
        assert mode.name == "p"
    assert str(warned[0].message) == (
        "Through.push() is no longer necessary: write `with Through():`"
    )
    assert warned[0].filename == __file__


# F55: logging -------------------------------------------------------------------------------


def test_F55_logging_mode_writes_each_call_down():
    x = opyard.tensor([1.0, 2.0])
    with LoggingMode() as log:
        log.input("x", x)
        y = opyard.ops.aten.mul(x, x)
        opyard.ops.aten.sum(y)
    assert log.lines == [
        "$0 = input('x')",
        "$1 = opyard.ops.aten.mul.Tensor($0, $0)",
        "$2 = opyard.ops.aten.sum.default($1)",
    ]


def test_F55_lists_keywords_and_several_results(define):
    op = define(
        'g(Tensor[] a, int b=1, *, str c="x") -> (Tensor, Tensor)', CPU=lambda a, b=1, c="x": a
    )
    nothing = define("h(int a) -> ()", CompositeExplicitAutograd=lambda a: None)
    x, y = opyard.tensor([1.0]), opyard.tensor([2.0])
    with LoggingMode() as log:
        op([x, y], 2, c="z")
        nothing(1)
    assert log.lines == [
        f"$0, $1 = opyard.ops.{op}.default([$0, $1], 2, c='z')",
        f"opyard.ops.{nothing}.default(1)",
    ]


# Life ---------------------------------------------------------------------------------------


def test_a_mode_lives_as_long_as_it_is_entered(f, x):
    class Dying(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            return op(*args)

    push_mode(Dying())
    f(x)
    dead = weakref.ref(get_current_dispatch_mode())
    pop_mode()
    assert dead() is None


def test_a_handler_may_take_all_modes_away(f, x):
    class Leaving(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            while len_dispatch_mode_stack():
                pop_mode()
            return op(*args)

    with Leaving() as inner:
        pop_mode()
        push_mode(Through("", []))
        push_mode(inner)
        assert f(x) is x
        assert get_current_dispatch_mode_stack() == [inner]


def test_references_are_balanced(f, x):
    mode = Through("", [])
    kinds = [mode, x, f.default]
    with mode:
        f(x)
        before = [sys.getrefcount(kind) for kind in kinds]
        for _ in range(100):
            f(x)
        assert [sys.getrefcount(kind) for kind in kinds] == before


# Both ways of a call ------------------------------------------------------------------------

BOTH_WAYS = [
    ((1,), {}),
    ((1, 2), {}),
    ((1, 3), {}),
    ((True, 3), {}),
    ((), {"a": 1, "b": 3}),
    ((1,), {"c": 6.0}),
    ((1,), {"d": "y", "c": 6.0}),
    ((1,), {"c": 6}),
]


@pytest.mark.parametrize(("given", "named"), BOTH_WAYS)
def test_F42_a_handler_gets_the_same_through_the_stack(define, given, named):
    op = define('g(int a, int b=2, *, float c=5.0, str d="x") -> ()').default
    with CallLog() as mode:
        op(*given, **named)
        op._call_boxed(*given, **named)
    direct, boxed = mode.calls
    assert direct == boxed
    assert list(map(type, direct[2])) == list(map(type, boxed[2]))
    assert list((direct[3] or {}).items()) == list((boxed[3] or {}).items())


@pytest.mark.parametrize("place", [-1, 4, 99, -(2**31), 2**31 - 1])
def test_a_mode_has_no_other_place(place):
    with pytest.raises(ValueError, match=f"a mode has no place {place}"):
        opyard._C.push_mode(DispatchMode(), place)
    assert get_current_dispatch_mode_stack() == []
