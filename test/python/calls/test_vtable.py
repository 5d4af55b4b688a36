"""Protects CPython's interpreter function table, slot by slot, as C++ calls it.

Suspect pyfallback/vtable/, the file that has the slot.
"""

import platform
import sys

import pytest
from built import plugin_path

import opyard
from opyard.dispatch import (
    DispatchKey,
    DispatchMode,
    ExcludeDispatchKeyGuard,
    IncludeDispatchKeyGuard,
    no_dispatch,
)
from opyard.library import Library, fallthrough_kernel, override

pytestmark = pytest.mark.memory


@pytest.fixture(scope="module")
def slots():
    opyard.load_library(plugin_path("opyard_vtable_plugin"))
    return opyard.ops.test_vtable


def name(ask, x):
    assert ask("name", x) == f"CPython {platform.python_version()}"


def incref_and_decref(ask, x):
    before = sys.getrefcount(x)
    ask("incref", x)
    assert sys.getrefcount(x) == before + 1
    ask("decref", x)
    assert sys.getrefcount(x) == before


def report_error_callback(ask, x):
    # The wrapper is passed in place of the callback: that it cannot be called shows that it was.
    with pytest.raises(TypeError, match="'opyard.Tensor' object is not callable"):
        ask("report_error_callback", x)


def reset_backward_hooks(ask, x):
    """Hooks that were added to the tensor are gone; those of its node, and retaining, stay."""
    seen = []
    leaf = opyard.ones(2).requires_grad_()
    result = leaf * 2
    result.retain_grad()
    for tensor, name in ((leaf, "leaf"), (result, "result")):
        tensor.register_hook(lambda grad, name=name: seen.append(name))
    result.grad_fn.register_hook(lambda results, given: seen.append("node"))
    ask("reset_backward_hooks", result)
    result.sum().backward(retain_graph=True)
    assert (seen, result.grad.tolist()) == (["node", "leaf"], [1.0, 1.0])
    ask("reset_backward_hooks", leaf)
    ask("reset_backward_hooks", x)
    result.sum().backward()
    assert seen == ["node", "leaf", "node"]


def dispatch(ask, x):
    class Answering(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            return args[0] if op.name() == "test_vtable::one" else op(*args)

    with Answering():
        assert ask("dispatch", x) is x


def detach(ask, x):
    class Own(opyard.Tensor):
        answer = None

        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            asked.append((op, types, args, kwargs))
            return cls.answer

    asked = []
    own = x.as_subclass(Own)
    Own.answer = fresh = x.as_subclass(Own)
    with no_dispatch():  # of the calls here; the slot goes to the class all the same
        assert ask("detach", own) is fresh
        assert asked == [(opyard.ops.aten.detach.default, (Own,), (own,), {})]
        plain = ask("detach", x)
        assert type(plain) is opyard.Tensor and plain is not x
        assert plain.data_ptr() == x.data_ptr()
        Own.answer = 3
        with pytest.raises(RuntimeError, match="detach returned invalid type int, expected Tensor"):
            ask("detach", own)


def trampoline(ask, x):
    slot, one = "python_op_registration_trampoline", opyard.ops.test_vtable.one.default
    with pytest.raises(NotImplementedError) as caught:
        ask(slot, x)
    assert str(caught.value) == (
        "test_vtable::one has no Python function of interpreter CPython "
        f"{platform.python_version()} at CPU; registered there is: no kernel"
    )
    got = []
    for with_keyset in (False, True):
        with override(one, "CPU", lambda *args: got.append(args) or x, with_keyset=with_keyset):
            got.clear()
            assert ask(slot, x) is x
            assert got == [(x,)]
            assert ask("trampoline with keyset and op", x) is x
            keys, op, argument = got[1]
            assert list(keys) == [DispatchKey.CPU]
            assert op is one and argument is x
    # What is asked of the results of a kernel is asked here as well.
    watched = Library("test_vtable", "IMPL")
    watched._library.impl(one.name(), lambda x: x, "CPU", False, True, "here.py:1", "fresh")
    with pytest.raises(RuntimeError, match="the memory of argument 'x'"):
        ask(slot, x)
    watched._destroy()


def python_dispatcher(ask, x):
    one = opyard.ops.test_vtable.one.default
    with override(one, "CPU", lambda x: x):
        assert ask("python_dispatcher", x) is x


class Answering(opyard.Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return args[0].answers[op.name().partition("::")[2].partition(".")[0]]


def answered(slot, expected, by=None, answer=None):
    """The slot gives what the class answers to the operator of that name."""

    def check(ask, x):
        made = opyard.Tensor.make_wrapper_subclass(Answering, (2, 3))
        made.answers = {by or slot: expected if answer is None else answer}
        assert ask(slot, made) == expected

    return check


def told(event):
    """The slot fires the callbacks of its event: test_gpu_trace.py has what they get."""

    def check(ask, x):
        registry = opyard.gpu_trace._registries[event]
        fired = []
        registry.add_callback(lambda *words: fired.append(words))
        ask(f"trace_gpu_{event}", x)
        registry.callback_list.clear()
        assert len(fired) == 1

    return check


def not_imported(ask, x):
    with pytest.raises(NotImplementedError) as raised:
        ask("throw_abstract_impl_not_imported_error", x)
    assert str(raised.value) == (
        "t::f has no kernel at Meta, where this call goes. Its fake kernel is in the Python module "
        "some_module, which has to be imported first: a context."
    )


def is_current(ask, x):
    assert ask("is_current", x) is True


# How each slot is shown to be served. [Matrix]: a slot without a row fails, and so does a row
# without a slot.
MATRIX = {
    "name": name,
    "incref": incref_and_decref,
    "decref": incref_and_decref,
    "detach": detach,
    "dispatch": dispatch,
    "report_error_callback": report_error_callback,
    "python_op_registration_trampoline": trampoline,
    "throw_abstract_impl_not_imported_error": not_imported,
    "python_dispatcher": python_dispatcher,
    "is_contiguous": answered("is_contiguous", False),
    "is_strides_like": answered("is_strides_like", True, by="is_strides_like_format"),
    "is_non_overlapping_and_dense": answered("is_non_overlapping_and_dense", False),
    "device": answered("device", opyard.device("cuda:2")),
    "dim": answered("dim", 9),
    "strides": answered("strides", [7, 8], by="stride"),
    "sizes": answered("sizes", [7, 8], by="size"),
    "sym_sizes": answered("sym_sizes", [7, 8], by="sym_size"),
    "layout": answered("layout", 1, answer=opyard.Layout.sparse),
    "numel": answered("numel", 56),
    "sym_numel": answered("sym_numel", 56),
    "sym_strides": answered("sym_strides", [7, 8], by="sym_stride"),
    "sym_storage_offset": answered("sym_storage_offset", 5),
    "trace_gpu_event_creation": told("event_creation"),
    "trace_gpu_event_deletion": told("event_deletion"),
    "trace_gpu_event_record": told("event_record"),
    "trace_gpu_event_wait": told("event_wait"),
    "trace_gpu_memory_allocation": told("memory_allocation"),
    "trace_gpu_memory_deallocation": told("memory_deallocation"),
    "trace_gpu_stream_creation": told("stream_creation"),
    "trace_gpu_device_synchronization": told("device_synchronization"),
    "trace_gpu_stream_synchronization": told("stream_synchronization"),
    "trace_gpu_event_synchronization": told("event_synchronization"),
    "reset_backward_hooks": reset_backward_hooks,
    "is_current": is_current,
}


def test_E12_every_slot_of_the_live_table_is_python_s(slots, x):
    found = dict(line.split() for line in slots.list_slots(x))
    assert len(found) == 34
    assert set(found.values()) == {"live"}
    assert list(found) == list(MATRIX), "see [Matrix]"


def test_E2_incref_takes_the_gil_if_its_caller_does_not_hold_it(slots, x):
    before = sys.getrefcount(x)
    slots.incref_on_another_thread(x)
    assert sys.getrefcount(x) == before + 1
    slots.ask("decref", x)
    assert sys.getrefcount(x) == before


@pytest.mark.parametrize("slot", MATRIX)
def test_E1_E2_E5_E6_E8_E9_E10_E11_each_slot_answers(slots, x, slot):
    MATRIX[slot](slots.ask, x)


def test_E6_every_kernel_in_python_that_cpp_calls_comes_by_the_trampoline(slots, x):
    one = opyard.ops.test_vtable.one.default
    layer = Library("test_vtable", "IMPL", "OnTop1")
    layer.impl("call_one", fallthrough_kernel)
    fallback = Library("_", "IMPL", "OnTop1")

    def go_on(op, *args):
        with ExcludeDispatchKeyGuard("OnTop1"):
            return op(*args)

    fallback.fallback(go_on)
    slots.count_trampolines(x)
    try:
        with override(one, "CPU", lambda x: x):
            assert slots.call_one(x) is x
            assert slots.take_trampolines() == 1
            with override(one, "CPU", lambda call_next, x: call_next(x), with_next=True):
                assert slots.call_one(x) is x
                assert slots.take_trampolines() == 2, "the one above, and the one that it calls"
                with override(
                    one, "CPU", lambda keys, call_next, x: call_next(x), with_next=True,
                    with_keyset=True,
                ):  # fmt: skip
                    assert slots.call_one(x) is x
                    assert slots.take_trampolines() == 3
            with IncludeDispatchKeyGuard("OnTop1"):
                assert slots.call_one(x) is x
            assert slots.take_trampolines() == 1, "the fallback, which calls from Python"
            with (
                override(one, "CPU", lambda call_next, x: 1 / 0, with_next=True),
                pytest.raises(ZeroDivisionError),
            ):
                slots.call_one(x)
            assert slots.take_trampolines() == 1
    finally:
        slots.count_trampolines(x)
        fallback._destroy()
        layer._destroy()
