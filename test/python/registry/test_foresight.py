"""test_foresight.py: explain(), what_if() and the history of registrations.

Suspect _dispatch/what_if.py, _dispatch/history.py, dispatch.py.
"""

import re
from datetime import datetime, timedelta, timezone

import pytest

import opyard
from opyard.dispatch import (
    DispatchKey,
    ExcludeDispatchKeyGuard,
    RegistryEvent,
    TableChange,
    dump_table,
    explain,
    history,
    what_if,
    would_dispatch,
)
from opyard.library import Library


def table_of(op):
    """dump_table() by key."""
    return dict(line.split(": ", 1) for line in dump_table(op, whole=True).splitlines())


def test_X2_would_dispatch_names_the_key_without_a_call(define, x):
    op = define("op(Tensor x) -> ()", CPU=lambda x: pytest.fail("called"))
    assert would_dispatch(op, x) is DispatchKey.CPU
    assert would_dispatch(op.qualified_name, x=x) is DispatchKey.CPU


def test_X2_would_dispatch_follows_the_thread(define, x):
    op = define("op(Tensor x) -> ()", CPU=lambda x: None, AutogradCPU=lambda x: None)
    assert would_dispatch(op, x) is DispatchKey.AutogradCPU
    with ExcludeDispatchKeyGuard("AutogradCPU"):
        assert would_dispatch(op, x) is DispatchKey.CPU


def test_X2_would_dispatch_gives_none_where_no_kernel_is_found(define, x):
    op = define("op(Tensor x) -> ()", CUDA=lambda x: None)
    assert would_dispatch(op, x) is None


def test_X2_would_dispatch_raises_what_the_call_raises(define):
    op = define("op(Tensor x) -> ()", CPU=lambda x: None)
    with pytest.raises(TypeError, match="missing value for argument 'x'"):
        would_dispatch(op)


def test_X1_explain_shows_the_chain_below_the_kernel(define, x):
    op = define("op(Tensor x) -> ()", CPU=lambda x: None, AutogradCPU=lambda x: None)
    found = explain(op, x)
    assert found.key is DispatchKey.AutogradCPU
    assert [(at.key.name, at.taken) for at in found.chain] == [
        ("ADInplaceOrView", False),
        ("BackendSelect", False),
        ("CPU", True),
    ]
    assert "  below it, should that kernel redispatch:\n" in str(found)
    with ExcludeDispatchKeyGuard("AutogradCPU"):
        assert explain(op, x).chain == ()


@pytest.mark.parametrize(
    "key", ["CPU", "Tracer", "Autograd", "CompositeImplicitAutograd", "CompositeExplicitAutograd"]
)
@pytest.mark.parametrize("fallthrough", [False, True])
def test_X2_what_if_foretells_a_registration(define, library, key, fallthrough):
    op = define("op(Tensor x) -> ()", CPU=lambda x: None, AutogradCUDA=lambda x: None)
    before = table_of(op)
    foretold = what_if(op, key, fallthrough=fallthrough)
    assert table_of(op) == before, "nothing is registered"
    with pytest.warns(UserWarning) if key == "CPU" else _no_warning():
        other = Library(library.ns, "IMPL")
        kernel = opyard.library.fallthrough_kernel if fallthrough else lambda x: None
        other.impl("op", kernel, key)
    after = table_of(op)
    assert {change.key.name for change in foretold} == {
        name for name in before.keys() | after.keys() if before.get(name) != after.get(name)
    }
    for change in foretold:
        assert change.before == before.get(change.key.name, "missing")
        same = re.sub(r"registered at \S+", "the new kernel", after[change.key.name])
        assert change.after == same
    other._destroy()


class _no_warning:
    def __enter__(self):
        pass

    def __exit__(self, *exception):
        pass


def test_X2_what_if_foretells_a_removal(define):
    op = define("op(Tensor x) -> ()", CPU=lambda x: None)
    (change,) = what_if(op, "CPU", remove=True)
    assert (change.key, change.after) == (DispatchKey.CPU, "missing")
    assert change.before == table_of(op)["CPU"]


def test_X2_what_if_as_text(define):
    op = define("op(Tensor x) -> ()", CPU=lambda x: None)
    name, place = op.qualified_name, table_of(op)["CPU"]
    assert str(what_if(op, "CPU", remove=True)) == (
        f"{name} without the active kernel at CPU: 1 key would change.\n"
        "  CPU\n"
        f"    now   {place}\n"
        "    then  missing\n"
    )
    assert str(what_if(op, DispatchKey.Autograd)).splitlines()[1:4] == [
        "  AutogradOther, AutogradCPU, AutogradCUDA, … AutogradNestedTensor (18 keys)",
        "    now   fallthrough built in [backend fallback]",
        "    then  the new kernel [autograd kernel]",
    ]
    with_kernel = what_if(op)
    assert str(with_kernel).startswith(f"{name} with a kernel at CompositeImplicitAutograd: ")
    assert len(with_kernel) == len(with_kernel.changes) > 20
    assert isinstance(with_kernel[0], TableChange)


def test_X2_what_if_that_changes_nothing(define):
    op = define("op(Tensor x) -> ()", CPU=lambda x: None)
    for at in what_if(op, "CompositeExplicitAutogradNonFunctional"):
        assert at.key is not DispatchKey.CPU
    nothing = what_if(op, "Tracer", fallthrough=True)
    assert [change.key.name for change in nothing] == ["Tracer"], "by another rule"


@pytest.mark.parametrize(
    "error, message, arguments, options",
    [
        (LookupError, "operator tt::nobody does not exist", ("tt::nobody",), {}),
        (LookupError, "Nope", (None, "Nope"), {}),
        (RuntimeError, "a kernel cannot be registered at Dense", (None, "Dense"), {}),
        (ValueError, "no kernel at CUDA that could be", (None, "CUDA"), {"remove": True}),
        (ValueError, "not both", (None,), {"remove": True, "fallthrough": True}),
    ],
)
def test_X2_what_if_refuses_what_has_no_answer(define, error, message, arguments, options):
    op = define("op(Tensor x) -> ()", CPU=lambda x: None)
    with pytest.raises(error, match=message):
        what_if(arguments[0] or op, *arguments[1:], **options)


def test_X3_history_remembers_what_came_and_went(ns):
    begin = datetime.now(timezone.utc)
    lib = Library(ns, "FRAGMENT")
    lib.define("op(Tensor x) -> ()")
    lib.impl("op", lambda x: None, "CPU")
    lib._destroy()
    events = history(f"{ns}::op")
    assert [(e.added, e.thing, e.key) for e in events] == [
        (True, "operator", None),
        (True, "kernel", DispatchKey.CPU),
        (False, "kernel", DispatchKey.CPU),
        (False, "operator", None),
    ]
    assert all(isinstance(event, RegistryEvent) for event in events)
    numbers = [event.number for event in events]
    assert numbers == sorted(numbers)
    assert events[1].registration == events[2].registration
    assert events[0].registration == events[3].registration
    for event in events:
        assert begin - timedelta(seconds=1) < event.time < datetime.now(timezone.utc)
        assert re.fullmatch(r"registered at .*test_foresight\.py:\d+", event.provenance)


def test_X3_history_of_everything_ends_with_the_latest(define):
    op = define("op(Tensor x) -> ()", CPU=lambda x: None)
    events = history()
    assert (events[-1].name, events[-1].thing) == (op.qualified_name, "kernel")
    assert events[0].number == events.dropped + 1
    assert len(events) <= 1024


def test_X3_history_as_text(define):
    op = define("op(Tensor x) -> ()", CPU=lambda x: None)
    first, second = str(history(op.default)).splitlines()[-2:]
    name = re.escape(op.qualified_name)
    clock = r" *\d+  \d\d:\d\d:\d\d\.\d{3}  "
    assert re.fullmatch(rf"{clock}\+ operator {name}, registered at .+", first)
    assert re.fullmatch(rf"{clock}\+ kernel {name} at CPU, registered at .+", second)


def test_X3_history_says_how_much_it_forgot(library):
    library.define("op(Tensor x) -> ()")
    for _ in range(600):
        library.impl("op", lambda x: None, "CPU")
    events = history()
    assert len(events) == 1024
    assert events.dropped == events[0].number - 1 > 0
    assert str(events).startswith(f"{events.dropped} earlier events are forgotten\n")


def test_X3_history_refuses_what_is_no_operator():
    with pytest.raises(ValueError, match="not a name"):
        history("not a name")
    with pytest.raises(TypeError):
        history(3)
