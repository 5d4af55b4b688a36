"""test_library_fallbacks.py: fallthrough kernels, fallbacks, key sets for kernels, overrides.

Suspect library.py, override.py, library.cpp, then dispatcher/src/registry/.
"""

import gc
import sys

import pytest
from raised import message_of

import opyard
from opyard import _bind
from opyard.dispatch import (
    DispatchKey,
    DispatchKeySet,
    IncludeDispatchKeyGuard,
    dump,
    dump_table,
    explain,
)
from opyard.library import Library, fallthrough_kernel, override


def here(offset=0):
    """'file:line' of the caller, as provenances name it."""
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno + offset}"


# F5, F6, F7 -------------------------------------------------------------------------------


def test_F5_the_fallthrough_kernel_is_never_called():
    assert message_of(NotImplementedError, fallthrough_kernel, 1, a=2) == (
        "fallthrough_kernel() should never be called."
    )


def test_F5_it_lets_calls_pass(foo, library, x):
    library.impl("foo", lambda x: "autograd", "AutogradCPU")
    assert foo(x) == "autograd"
    library.impl("foo", fallthrough_kernel, "AutogradCPU")
    assert foo(x) == "first"
    assert "AutogradCPU: fallthrough registered at " in dump_table(foo)
    assert "[ fallthrough boxed ]" in dump(foo)


def test_F6_a_fallback_gets_the_operator_first(foo, x):
    seen = []

    def fallback(op, *args, **kwargs):
        seen.append((op, args, kwargs))
        return "fallback"

    library = Library("_", "IMPL", "XLA")
    library.fallback(fallback)
    try:
        with IncludeDispatchKeyGuard("XLA"):
            assert explain(foo, x).considered[-1].reason == "backend fallback"
            assert foo(x) == "fallback"
    finally:
        library._destroy()
    assert seen == [(foo.default, (x,), {})]
    assert seen[0][0] is foo.default
    with pytest.raises(NotImplementedError), IncludeDispatchKeyGuard("XLA"):
        foo(x)


def test_F6_a_fallback_gets_the_key_set_before_that_if_it_asks(foo, x):
    seen = []
    library = Library("_", "IMPL")
    library.fallback(lambda *args: seen.append(args) or "", "XLA", with_keyset=True)
    keys = DispatchKeySet("XLA")
    foo.default.redispatch(keys, x)
    library._destroy()
    assert seen == [(keys, foo.default, x)]


def test_F6_a_fallback_serves_operators_that_come_later(library, ns, x):
    fallbacks = Library("_", "IMPL", "XLA")
    fallbacks.fallback(lambda op, x: op.name())
    library.define("later(Tensor x) -> str")
    later = getattr(opyard.ops, ns).later
    assert later.default.redispatch(DispatchKeySet("XLA"), x) == f"{ns}::later"
    fallbacks._destroy()


def test_F6_a_fallback_that_falls_through(foo, x):
    library = Library("_", "IMPL", "XLA")
    library.fallback(fallthrough_kernel)
    table = dump_table(foo)
    with IncludeDispatchKeyGuard("XLA"):
        assert [step.reason for step in explain(foo, x).considered][-2:] == [
            "falls through", "no kernel",
        ]  # fmt: skip
    library._destroy()
    assert "XLA: fallthrough registered at " in table
    assert "\nXLA: " not in dump_table(foo)


def test_F6_only_for_all_operators_and_with_a_key(ns):
    text = message_of(RuntimeError, Library(ns, "IMPL", "XLA").fallback, print)
    assert 'global namespace "_"' in text
    assert "is for one key" in message_of(RuntimeError, Library("_", "IMPL").fallback, print)
    assert "required to be a callable" in message_of(
        TypeError, Library("_", "IMPL", "XLA").fallback, 3
    )


def test_B30_one_fallback_a_key():
    first = Library("_", "IMPL", "XLA")
    first.fallback(lambda op, *args: None)
    place = here(-1)
    second = Library("_", "IMPL", "XLA")
    text = message_of(RuntimeError, second.fallback, lambda op, *args: None)
    assert text.startswith(
        "Tried to register multiple backend fallbacks for the same dispatch key XLA; "
        f"previous registration registered at {place}, new registration registered at "
    )
    first._destroy()
    second.fallback(lambda op, *args: None)
    second._destroy()


def test_F7_a_kernel_that_asks_gets_the_key_set_first(foo, library, x):
    seen = []

    def kernel(keys, x):
        seen.append(keys)
        below = DispatchKeySet([DispatchKey.CPU])
        return foo.default.redispatch(keys & below, x) + " below"

    library.impl("foo", kernel, "AutogradCPU", with_keyset=True)
    assert foo(x) == "first below"
    assert DispatchKey.AutogradCPU in seen[0] and DispatchKey.CPU in seen[0]


# override ---------------------------------------------------------------------------------


def test_override_in_a_with_block(foo, x):
    with override(foo.default, "CPU", lambda x: "over") as ov:
        assert foo(x) == "over"
        assert isinstance(ov, override)
    assert foo(x) == "first"


def test_override_is_taken_back_after_an_exception(foo, x):
    with pytest.raises(KeyError), override(foo.default, "CPU", lambda x: "over"):
        raise KeyError
    assert foo(x) == "first"


def test_override_as_an_object(foo, x):
    ov = override(foo.qualified_name, DispatchKey.CPU, lambda x: "over")
    assert foo(x) == "over"
    ov.remove()
    assert foo(x) == "first"
    ov.remove()
    with pytest.raises(RuntimeError, match="removed already"), ov:
        pass


def test_override_ends_when_nothing_refers_to_it(foo, x):
    ov = override(foo, "CPU", lambda x: "over")
    assert foo(x) == "over"
    del ov
    gc.collect()
    assert foo(x) == "first"


def test_overrides_are_removed_in_any_order(foo, x):
    a = override(foo, "CPU", lambda x: "a")
    b = override(foo, "CPU", lambda x: "b")
    c = override(foo, "CPU", lambda x: "c")
    assert foo(x) == "c"
    b.remove()
    assert foo(x) == "c"
    c.remove()
    assert foo(x) == "a"
    a.remove()
    assert foo(x) == "first"


def test_override_gives_no_warning_over_cpp_kernels(plugin, x):
    with override("test_plugin::same", "CPU", lambda x: x + 1):  # warnings are errors here
        assert plugin.same(x) is not x
    assert plugin.same(x) is x


def test_override_may_take_itself_back_while_it_runs(foo, x):
    def kernel(x):
        ov.remove()
        return "last words"

    ov = override(foo, "CPU", kernel)
    del kernel
    assert foo(x) == "last words"
    assert foo(x) == "first"
    _bind.reclaim()
    assert _bind.retired_count() == 0


def test_override_with_the_key_set(foo, x):
    with override(foo, "CPU", lambda keys, x: str(keys), with_keyset=True):
        assert foo(x).startswith("DispatchKeySet(CPU")


def test_override_with_fallthrough(foo, library, x):
    library.impl("foo", lambda x: "autograd", "AutogradCPU")
    assert foo(x) == "autograd"
    with override(foo, "AutogradCPU", fallthrough_kernel):
        assert foo(x) == "first"
    assert foo(x) == "autograd"


def test_override_of_what_does_not_exist(foo, ns, library):
    text = message_of(LookupError, override, f"{ns}::nope", "CPU", print)
    assert f"operator {ns}::nope does not exist" in text
    text = message_of(LookupError, override, f"{ns}::foo.nope", "CPU", print)
    assert f"{ns}::foo has no overload 'nope'; it has: default" in text
    assert "required to be a callable" in message_of(TypeError, override, foo, "CPU", None)
    library.define("foo.ov(int n) -> str")
    text = message_of(TypeError, override, foo, "CPU", print)
    assert text == f"{foo} has several overloads, name one of: default, ov"
    assert "not as int" in message_of(TypeError, override, 3, "CPU", print)
