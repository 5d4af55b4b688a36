"""test_registry.py: queries of opyard.dispatch about the registry, and its listeners.

Suspect opyard/_core/queries.py, registering/callbacks.cpp, bind/registry.cpp.
"""

import gc
import sys
import threading
import weakref

import pytest
from raised import message_of

import opyard
from opyard.dispatch import (
    DispatchKey,
    DispatchKeySet,
    DispatchLog,
    IncludeDispatchKeyGuard,
    computed_kernel,
    dangling,
    dump,
    has_computed_kernel,
    has_fallback,
    has_kernel,
    has_kernel_for_any,
    is_fallthrough,
    metadata,
    on_registration,
    set_dispatch_log,
    set_report_error_callback,
)
from opyard.library import Library, fallthrough_kernel

# B43: whether there is a kernel ------------------------------------------------------------


@pytest.fixture
def asked(define, library):
    packet = define(
        "asked(Tensor x) -> Tensor", Meta=lambda x: x, CompositeExplicitAutograd=lambda x: x
    )
    library.impl("asked", fallthrough_kernel, "AutogradCPU")
    return packet


def test_B43_has_kernel_is_of_exactly_the_key(asked, ns):
    name = f"{ns}::asked"
    for op in (asked, asked.default, name):
        assert has_kernel(op)
        assert has_kernel(op, "Meta") and has_kernel(op, DispatchKey.Meta)
        assert has_kernel(op, int(DispatchKey.Meta))
        assert has_kernel(op, "CompositeExplicitAutograd")
        assert not has_kernel(op, "CPU")
    assert not has_kernel(f"{ns}::nope")
    assert not has_kernel(f"{ns}::nope", "CPU")
    assert "Nope" in message_of(LookupError, has_kernel, name, "Nope")
    assert "9999" in message_of(LookupError, has_kernel, name, 9999)
    message_of(ValueError, has_kernel, "no name")
    message_of(TypeError, has_kernel, 3)


def test_B43_has_kernel_for_any_key_of_a_set(asked):
    assert has_kernel_for_any(asked, DispatchKeySet(["CUDA", "Meta"]))
    assert has_kernel_for_any(asked, ["CPU", "Meta"])
    assert has_kernel_for_any(asked, "Meta")
    assert not has_kernel_for_any(asked, ["CUDA", "CPU"])
    assert not has_kernel_for_any(asked, DispatchKeySet())


def test_B43_has_computed_kernel_is_of_whatever_rule(asked, ns):
    assert has_computed_kernel(asked, "CPU") and has_computed_kernel(asked, "Undefined")
    assert has_computed_kernel(asked, "AutogradCPU"), "a fallthrough counts"
    assert not has_computed_kernel(asked, "NestedTensorCPU")
    assert message_of(ValueError, has_computed_kernel, asked, "Autograd") == (
        "Autograd is an alias key. Alias keys do not have runtime kernel registrations."
    )
    assert message_of(ValueError, has_computed_kernel, asked, "Dense") == (
        "Dense has no slot of its own; name the key of one backend"
    )
    assert message_of(LookupError, has_computed_kernel, f"{ns}::nope", "CPU") == (
        f"operator {ns}::nope does not exist; is its library loaded?"
    )


def test_B43_is_fallthrough(asked, ns):
    assert is_fallthrough(asked, "AutogradCPU") and is_fallthrough(asked, "Tracer")
    assert not is_fallthrough(asked, "CPU")
    assert message_of(LookupError, is_fallthrough, f"{ns}::nope", "CPU") == (
        f"operator {ns}::nope does not exist; is its library loaded?"
    )


def test_B43_has_fallback():
    assert not has_fallback("XLA")
    library = Library("_", "IMPL", "XLA")
    library.fallback(lambda op, *args: None)
    assert has_fallback("XLA") and has_fallback(DispatchKey.XLA)
    assert not has_fallback("AutogradXLA")
    library._destroy()
    assert not has_fallback("XLA")


def test_B43_a_computed_kernel_runs_what_stands_at_its_key(define, library, x):
    seen = []
    packet = define("f(Tensor x, *, int n=1) -> int", AutogradCPU=lambda x, n=1: -1)
    library.impl("f", lambda keys, x, n=1: seen.append(keys) or n, "CPU", with_keyset=True)
    kernel = computed_kernel(packet, "CPU")
    assert kernel(x) == 1 and kernel(x, n=5) == 5
    assert seen[-1] == DispatchKeySet("CPU")
    given = DispatchKeySet(["CPU", "AutogradCPU", "BackendSelect"])
    assert kernel.call_boxed(given, x, n=7) == 7
    assert seen[-1] == DispatchKeySet("CPU"), "nothing above the kernel's key"
    assert computed_kernel(packet.default, DispatchKey.AutogradCPU)(x) == -1
    assert repr(kernel) == f"<ComputedKernel of {packet.default.name()} at CPU>"
    assert message_of(TypeError, kernel.call_boxed, x) == (
        "call_boxed() takes a DispatchKeySet first, not Tensor"
    )
    message_of(TypeError, kernel)
    message_of(TypeError, kernel, "no tensor")


def test_B43_a_computed_kernel_sees_the_keys_below_its_own(define, library, x):
    seen = []
    packet = define("f(Tensor x) -> Tensor")
    library.impl("f", lambda keys, x: seen.append(keys) or x, "AutogradCPU", with_keyset=True)
    kernel = computed_kernel(packet, "AutogradCPU")
    assert kernel.call_boxed(DispatchKeySet(["CPU", "Tracer"]), x) is x
    assert seen[-1] == DispatchKeySet(["CPU", "AutogradCPU"])


@pytest.mark.parametrize("traced", [False, True])
def test_B43_a_computed_kernel_runs_whatever_backend_the_call_has(
    define, library, x, traced, capfd
):
    packet = define("f(Tensor x) -> str", CUDA=lambda x: "CUDA", AutogradCUDA=lambda x: "autograd")
    library.impl("f", lambda keys, x: repr(keys), "CPU", with_keyset=True)
    kernel = computed_kernel(packet, "CPU")
    cuda = DispatchKeySet(["CUDA", "Meta", "AutogradCUDA"])
    set_dispatch_log(traced)
    with IncludeDispatchKeyGuard(cuda):
        assert kernel(x) == kernel.call_boxed(cuda, x) == "DispatchKeySet(CPU)"
    set_dispatch_log(False)
    assert capfd.readouterr().err.count("key=[CPU]") == 2 * traced


def test_B43_a_computed_kernel_is_that_of_its_time(define, library, ns, x):
    packet = define("f(Tensor x) -> int", CPU=lambda x: 1)
    kernel = computed_kernel(packet, "CPU")
    with opyard.library.override(packet, "CPU", lambda x: 2):
        assert packet(x) == 2
        assert kernel(x) == kernel.call_boxed(DispatchKeySet("CPU"), x) == 1
    assert kernel(x) == 1
    assert message_of(LookupError, computed_kernel, packet, "CUDA") == (
        f"{ns}::f has no kernel at CUDA"
    )
    assert "alias key" in message_of(ValueError, computed_kernel, packet, "Autograd")
    assert "does not exist" in message_of(LookupError, computed_kernel, f"{ns}::nope", "CPU")
    library._destroy()
    for call in (kernel, lambda x: kernel.call_boxed(DispatchKeySet("CPU"), x)):
        assert message_of(RuntimeError, call, x).startswith(f"{ns}::f(Tensor x) -> int is gone")


# B32: dangling implementations ---------------------------------------------------------------


def test_B32_kernels_without_a_definition_are_listed(library, ns):
    before = dangling()
    library.impl("lone", lambda: None, "CPU")
    assert dangling() == sorted([*before, dump(f"{ns}::lone")])
    (added,) = (text for text in dangling() if text not in before)
    assert added.startswith(f"name: {ns}::lone\nschema: (none)\nCPU: registered at ")
    library.define("lone() -> ()")
    assert dangling() == before


# B46: metadata --------------------------------------------------------------------------------


def test_B46_an_operator_is_described(library, ns):
    doc = 'Adds.\n\nBoth "terms" are kept: \\ \u00e9.'
    name = library.define(
        'add.to(Tensor(a!) x, int[2]? n=None, *, str s="q") -> Tensor(a!)', tags="core", doc=doc
    )
    expected = {
        "name": f"{ns}::add",
        "overload": "to",
        "schema": getattr(opyard.ops, ns).add.to.declaration,
        "doc": doc,
        "tags": ["core"],
        "arguments": [
            {"name": "x", "type": "Tensor", "alias": "(a!)"},
            {"name": "n", "type": "int[2]?", "default": "None"},
            {"name": "s", "type": "str", "default": '"q"', "keyword_only": True},
        ],
        "results": [{"name": "", "type": "Tensor", "alias": "(a!)"}],
    }
    assert metadata(name) == metadata(getattr(opyard.ops, ns).add) == expected
    library.define("plain() -> ()")
    assert metadata(f"{ns}::plain")["doc"] == ""
    assert "nope" in message_of(LookupError, metadata, f"{ns}::nope")
    message_of(TypeError, library.define, "h() -> ()", doc=3)


# B33: listeners --------------------------------------------------------------------------------


def test_B33_a_listener_hears_of_what_is_there_then_of_what_comes_and_goes(library, ns):
    library.define("before() -> ()")
    library.impl("dangling", lambda: None, "CPU")
    told = []

    def of_this_test(sign):
        return lambda op: told.append(sign + op.name()) if op.namespace == ns else None

    with on_registration(of_this_test("+"), of_this_test("-")):
        assert told == [f"+{ns}::before"]
        other = Library(ns, "FRAGMENT")
        other.define("after.out() -> ()")
        other.impl("after.out", lambda: None, "CPU")
        assert told[1:] == [f"+{ns}::after.out"]
        other._destroy()
        assert told[2:] == [f"-{ns}::after.out"]
    library.define("unheard() -> ()")
    assert len(told) == 3


def test_B33_operators_come_as_the_objects_of_ops_and_can_still_be_used(library, ns):
    seen = []
    handle = on_registration(
        lambda op: seen.append(op) if op.namespace == ns else None,
        lambda op: seen.append(op()) if op.namespace == ns else None,
    )
    other = Library(ns, "FRAGMENT")
    other.impl("f", lambda: 7, "CompositeImplicitAutograd")
    other.define("f() -> int")
    assert seen == [getattr(opyard.ops, ns).f.default]
    del other
    assert seen[1:] == [7], "it was called while its definition was being unregistered"
    handle.remove()
    handle.remove()
    library.define("unheard() -> ()")
    assert len(seen) == 2


def test_B33_what_on_defined_raises_takes_the_definition_back(library, ns):
    raised = ValueError("not here")

    def refuse(op):
        if op.namespace == ns:
            raise raised

    with on_registration(refuse):
        with pytest.raises(ValueError) as caught:
            library.define("f() -> ()")
        assert caught.value is raised
        assert dump(f"{ns}::f") == ""
    library.define("f() -> ()")
    with pytest.raises(ValueError) as caught:
        on_registration(refuse)
    assert caught.value is raised
    library.define("g() -> ()")  # it does not listen


def test_B33_what_on_undefined_raises_is_unraisable(library, ns, monkeypatch):
    raised, reports = KeyboardInterrupt("nor there"), []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reports.append(report.exc_value))

    def refuse(op):
        if op.namespace == ns:
            raise raised

    library.define("f() -> ()")
    with on_registration(None, refuse):
        library._destroy()
    assert reports == [raised] and reports[0] is raised
    assert dump(f"{ns}::f") == ""


def test_B33_an_exception_on_its_way_survives_the_end_of_a_definition(ns):
    told = []

    def fails():
        library = Library(ns, "FRAGMENT")
        library.define("f() -> ()")
        raise ValueError(library and "mine")

    with on_registration(None, lambda op: told.append(op.name())):
        assert message_of(ValueError, fails) == "mine"
        gc.collect()
    assert told == [f"{ns}::f"]


def test_B33_dropping_the_handle_ends_it_and_frees_the_callbacks(library, ns):
    told = []

    class Callback:
        def __call__(self, op):
            told.append(op.name())

    callback = Callback()
    alive = weakref.ref(callback)
    handle = on_registration(callback)
    told.clear()
    del callback
    gc.collect()
    assert alive() is not None
    library.define("f() -> ()")
    assert told == [f"{ns}::f"]
    del handle
    gc.collect()
    assert alive() is None
    library.define("g() -> ()")
    assert len(told) == 1


def test_B33_what_is_no_callable_is_refused():
    assert message_of(TypeError, on_registration, 3) == (
        "on_defined must be a callable or None, not int"
    )
    assert message_of(TypeError, on_registration, None, 3) == (
        "on_undefined must be a callable or None, not int"
    )


def test_B33_a_plugin_loaded_without_the_lock_tells_the_listener(run_program, plugin):
    from built import plugin_path

    done = run_program(
        """
        import sys, opyard
        from opyard.dispatch import on_registration
        names = []
        handle = on_registration(lambda op: names.append(op.name()))
        opyard.load_library(sys.argv[1])
        assert any(name.startswith("test_plugin::") for name in names), names
        print("told")
        """,
        plugin_path("opyard_test_plugin"),
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "told\n", "")


def test_B33_listeners_are_right_among_threads(ns):
    standing, faults = {}, []

    def change(by):
        def change(op):
            if op.namespace != ns:
                return
            standing[op.name()] = standing.get(op.name(), 0) + by
            if standing[op.name()] not in (0, 1):
                faults.append(op.name())

        return change

    def come_and_go(number):
        for _ in range(60):
            library = Library(ns, "FRAGMENT")
            library.define(f"f{number}() -> ()")
            library._destroy()

    with on_registration(change(1), change(-1)):
        threads = [threading.Thread(target=come_and_go, args=(i,)) for i in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert faults == []
    assert set(standing.values()) == {0} and len(standing) == 4


def test_B33_a_listener_that_still_listens_at_exit_is_silent(run_program):
    done = run_program(
        """
        import opyard
        from opyard.dispatch import on_registration, set_report_error_callback
        from opyard.library import Library
        lib = Library("t", "FRAGMENT")
        lib.define("f(Tensor x) -> Tensor")
        handle = on_registration(lambda op: None, lambda op: None)
        kept = on_registration(print, print)._listening
        set_report_error_callback("t::f", lambda key: None)
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("t.f.default")


# B42: who reports a missing kernel -------------------------------------------------------------


def test_B42_the_callback_raises_in_place_of_opyard(define, x, ns):
    packet = define("f(Tensor x) -> Tensor", CUDA=lambda x: x)
    keys = []
    raised = ZeroDivisionError("mine")

    def report(key):
        keys.append(key)
        raise raised

    set_report_error_callback(packet, report)
    with pytest.raises(ZeroDivisionError) as caught:
        packet(x)
    assert caught.value is raised and keys == ["CPU"]
    set_report_error_callback(packet.default, keys.append)
    assert message_of(NotImplementedError, packet, x).startswith(f"{ns}::f has no kernel at CPU")
    assert keys == ["CPU", "CPU"], "it returned, so Opyard raised"
    set_report_error_callback(f"{ns}::f", None)
    message_of(NotImplementedError, packet, x)
    assert len(keys) == 2


def test_B42_the_callback_ends_with_the_definition(library, ns, x):
    class Report:
        def __call__(self, key):
            raise ZeroDivisionError

    report = Report()
    alive = weakref.ref(report)
    library.define("f(Tensor x) -> Tensor")
    op = getattr(opyard.ops, ns).f.default
    set_report_error_callback(op, report)
    del report
    gc.collect()
    message_of(ZeroDivisionError, op, x)
    library._destroy()
    gc.collect()
    assert alive() is None
    assert message_of(LookupError, set_report_error_callback, op, print) == (
        f"{ns}::f(Tensor x) -> Tensor is gone: its definition was unregistered"
    )
    again = Library(ns, "FRAGMENT")
    again.define("f(Tensor x) -> Tensor")
    message_of(NotImplementedError, op, x)


def test_B42_what_is_no_callable_is_refused(define):
    packet = define("f(Tensor x) -> Tensor")
    assert message_of(TypeError, set_report_error_callback, packet, 3) == (
        "the error callback must be a callable or None, not int"
    )
    message_of(LookupError, set_report_error_callback, "nope::nope", print)


# B45: the dispatch log --------------------------------------------------------------------------


def test_B45_the_trace_shows_calls_with_their_depth(define, x, ns, capfd):
    inner = define("inner(Tensor x) -> Tensor", CPU=lambda x: x)
    outer = define("outer(Tensor x) -> Tensor", CPU=lambda x: inner(x))
    outer(x)
    with DispatchLog() as trace:
        outer(x)
        with trace:
            pass
        inner(x)
    outer(x)
    assert capfd.readouterr().err == (
        f" [call] op=[{ns}::outer], key=[CPU]\n"
        f"  [call] op=[{ns}::inner], key=[CPU]\n"
        f" [call] op=[{ns}::inner], key=[CPU]\n"
    )
    set_dispatch_log(True)
    with DispatchLog():
        pass
    inner(x)
    set_dispatch_log(False)
    inner(x)
    assert capfd.readouterr().err == f" [call] op=[{ns}::inner], key=[CPU]\n"


def test_B45_traces_that_overlap_show_until_the_last_one_ends(define, x, ns, capfd):
    packet = define("f(Tensor x) -> Tensor", CPU=lambda x: x)
    first, second = DispatchLog(), DispatchLog()
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    packet(x)
    second.__exit__(None, None, None)
    packet(x)
    assert capfd.readouterr().err == f" [call] op=[{ns}::f], key=[CPU]\n"


# B19: the module of the fake kernel --------------------------------------------------------


def test_B19_who_lacks_a_fake_kernel_is_told_where_it_is(library, ns):
    library.define("a() -> ()")
    library.set_python_module("demo.fakes", "pip install demo")
    library.define("b() -> ()")
    meta = opyard.dispatch.ForceDispatchKeyGuard(DispatchKeySet("Meta"), DispatchKeySet())
    space = getattr(opyard.ops, ns)
    hint = "Its fake kernel is in the Python module demo.fakes, which has to be imported first"
    with meta:
        assert "fake kernel" not in message_of(NotImplementedError, space.a)
        assert f"{hint}: pip install demo." in message_of(NotImplementedError, space.b)
    with pytest.warns(UserWarning, match=r"demo\.fakes") as caught:
        library.set_python_module("demo.other")
    assert caught[0].filename == __file__
    library.define("c() -> ()")
    with meta:
        text = message_of(NotImplementedError, space.c)
    assert "Python module demo.other, which has to be imported first." in text
    message_of(TypeError, library.set_python_module, 3)


def test_a_computed_kernel_stays_the_one_that_it_was(define, ns, x):
    f = define("f(Tensor x) -> Tensor", CompositeExplicitAutograd=lambda x: x * 2).default
    original = computed_kernel(f, "CPU")
    with opyard.library.override(f, "CPU", lambda x: original(x) + 1):
        covered = computed_kernel(f, "CPU")
        assert f(x).tolist() == covered(x).tolist() == (x * 2 + 1).tolist()
        with opyard.library.override(f, "CPU", lambda x: x):
            assert original(x).tolist() == (x * 2).tolist()
            assert covered.call_boxed(DispatchKeySet("CPU"), x).tolist() == (x * 2 + 1).tolist()
    with pytest.raises(RuntimeError) as gone:
        covered(x)
    assert str(gone.value) == (
        f"{f.name()}: the kernel at CPU that was asked for is unregistered by now; ask for the one "
        "that serves the key now"
    )
    assert original(x).tolist() == (x * 2).tolist()


def test_a_computed_kernel_of_a_fallback_and_of_what_is_built_in(define, x):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x * 2).default
    passes = computed_kernel(f, "AutogradCPU")
    assert passes.call_boxed(DispatchKeySet(["CPU", "AutogradCPU"]), x).tolist() == (x * 2).tolist()
    with opyard.library.Library("_", "IMPL", "OnTop1") as library:
        library.fallback(lambda op, x: "fallback" and x)
        fallback = computed_kernel(f, "OnTop1")
        assert fallback.call_boxed(DispatchKeySet(["OnTop1", "CPU"]), x) is x


def test_the_tables_of_one_operator_are_checked(define):
    from opyard.dispatch import check_invariants

    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x)
    check_invariants(f)
    check_invariants(f.qualified_name)
    check_invariants()
    with pytest.raises(LookupError, match="operator nowhere::f does not exist"):
        check_invariants("nowhere::f")
