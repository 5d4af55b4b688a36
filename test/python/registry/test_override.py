"""test_override.py: overrides by name, in stacks, and going on to what they cover.

Suspect _library/override.py, next_kernel.cpp, registry/next.cpp.
"""

import threading

import pytest

import opyard
from opyard import dispatch
from opyard.library import Library, override


@pytest.fixture
def twice(define):
    return define("twice(Tensor x) -> Tensor", CPU=lambda x: x * 2)


def plus(number):
    return lambda call_next, x: call_next(x) + number


def test_X4_call_next_calls_the_kernel_that_is_covered(twice, x):
    with override(twice, "CPU", plus(1), with_next=True):
        assert twice(x).tolist() == [3.0, 5.0, 7.0]
    assert twice(x).tolist() == [2.0, 4.0, 6.0]


def test_X4_a_namespace_with_names_of_python(library, ns, x):
    for schema in ("__add__(Tensor x) -> Tensor", "f.overloads(Tensor x) -> Tensor"):
        library.define(schema)
    with override(f"{ns}::*", "CPU", lambda x: x * 9):
        added = opyard._core.ops.overload_of(f"{ns}::__add__")
        assert added(x).tolist() == [9.0, 18.0, 27.0]
        assert getattr(opyard.ops, ns).f(x).tolist() == [9.0, 18.0, 27.0]


def test_X4_overrides_stack_and_each_calls_the_next(twice, x):
    order = []

    def noting(name):
        def kernel(call_next, x):
            order.append(name)
            return call_next(x)

        return kernel

    with (
        override(twice, "CPU", noting("a"), with_next=True),
        override(twice, "CPU", noting("b"), with_next=True),
        override(twice, "CPU", noting("c"), with_next=True),
    ):
        assert twice(x).tolist() == [2.0, 4.0, 6.0]
    assert order == ["c", "b", "a"]


@pytest.mark.parametrize(
    "order", [(0, 1, 2), (0, 2, 1), (1, 0, 2), (1, 2, 0), (2, 0, 1), (2, 1, 0)]
)
def test_X4_overrides_are_removed_in_any_order(twice, x, order):
    made = [override(twice, "CPU", plus(10**n), with_next=True) for n in range(3)]
    expected = 113.0
    assert twice(x).tolist()[0] == expected
    for n in order:
        made[n].remove()
        expected -= 10**n
        assert twice(x).tolist()[0] == expected
        dispatch.check_invariants()


def test_X4_the_stack_may_change_below_while_an_override_runs(twice, x):
    below = override(twice, "CPU", lambda x: x * 100)
    seen = []

    def changing(call_next, x):
        seen.append(call_next(x).tolist()[0])
        below.remove()
        seen.append(call_next(x).tolist()[0])
        with override(twice, "CPU", lambda x: x * 7):  # on top of this one: not below it
            seen.append(call_next(x).tolist()[0])
        return x

    with override(twice, "CPU", changing, with_next=True):
        twice(x)
    assert seen == [100.0, 2.0, 2.0]


def test_X4_an_override_that_removes_itself_still_reaches_what_was_below(twice, x):
    def once(call_next, x):
        holder.pop().remove()
        return call_next(x)

    holder = [override(twice, "CPU", once, with_next=True)]
    upper = override(twice, "CPU", plus(1), with_next=True)
    assert twice(x).tolist() == [3.0, 5.0, 7.0]
    assert twice(x).tolist() == [3.0, 5.0, 7.0] and not holder
    upper.remove()


def test_X4_call_next_may_be_kept_and_called_on_another_thread(twice, x):
    kept = []

    def keeping(call_next, x):
        kept.append(call_next)
        return x

    with override(twice, "CPU", keeping, with_next=True):
        twice(x)
    results = []
    thread = threading.Thread(target=lambda: results.append(kept[0](x).tolist()))
    thread.start()
    thread.join()
    assert results == [[2.0, 4.0, 6.0]]
    assert repr(kept[0]) == f"<call_next of {twice.qualified_name} below CPU>"
    assert kept[0].op is twice.default and kept[0].keyset.has("CPU")


def test_X4_call_next_from_cpp(plugin, twice, x):
    with override(twice, "CPU", plus(1), with_next=True):
        assert plugin.call(twice.qualified_name, x).tolist() == [3.0, 5.0, 7.0]


def test_X4_call_next_covers_a_cpp_kernel(x):
    with override("aten::add.Tensor", "CPU", lambda call_next, a, b, **k: call_next(a, b, alpha=2),
                  with_next=True):  # fmt: skip
        assert (x + x).tolist() == [3.0, 6.0, 9.0]
    assert (x + x).tolist() == [2.0, 4.0, 6.0]


def test_X4_at_the_bottom_the_composite_kernel_comes(define, x):
    f = define("f(Tensor x) -> Tensor", CompositeImplicitAutograd=lambda x: x * 5)
    with override(f, "CPU", plus(1), with_next=True):
        assert f(x).tolist() == [6.0, 11.0, 16.0]


def test_X4_an_override_of_a_composite_kernel_reaches_what_lies_below_it(define, x):
    f = define("f(Tensor x) -> Tensor", CompositeImplicitAutograd=lambda x: x * 5)
    with override(f, "CompositeImplicitAutograd", plus(1), with_next=True):
        assert f(x).tolist() == [6.0, 11.0, 16.0]


def test_X4_below_an_override_at_a_layer_that_falls_through_the_backend_comes(twice, x):
    with override(twice, "BackendSelect", plus(1), with_next=True):
        with dispatch.IncludeDispatchKeyGuard("BackendSelect"):
            assert twice(x).tolist() == [3.0, 5.0, 7.0]


def test_X4_call_next_reaches_a_fallback(define, x):
    fallbacks = Library("_", "IMPL", "OnTop1")
    fallbacks.fallback(lambda op, *args: [op.name(), len(args)])
    g = define("g(Tensor x) -> Any")
    with override(g, "OnTop1", lambda call_next, x: [call_next(x), "and on"], with_next=True):
        with dispatch.IncludeDispatchKeyGuard("OnTop1"):
            found = g(x)
    fallbacks._destroy()
    assert found == [[g.qualified_name, 1], "and on"]


def test_X4_call_next_without_a_kernel_below_says_so(define, x):
    f = define("f(Tensor x) -> Tensor")
    with override(f, "CPU", plus(1), with_next=True):
        with pytest.raises(NotImplementedError, match=f"^{f.qualified_name} has no kernel at CPU"):
            f(x)


def test_X4_call_next_checks_its_arguments(twice, x):
    with override(twice, "CPU", lambda call_next, x: call_next(3), with_next=True):
        with pytest.raises(TypeError, match="Expected a value of type 'Tensor'"):
            twice(x)
    with override(twice, "CPU", lambda call_next, x: call_next(), with_next=True):
        with pytest.raises(TypeError, match="missing"):
            twice(x)


def test_X4_arrays_of_others_go_through_call_next(twice):
    np = pytest.importorskip("numpy")
    array = np.array([1.0, 2.0], np.float32)
    with override(twice, "CPU", plus(1), with_next=True):
        assert isinstance(twice(array), np.ndarray) and twice(array).tolist() == [3.0, 5.0]
    kinds = []

    def with_arrays(call_next, x):
        kinds.append(type(call_next(array)))
        return x

    with override(twice, "CPU", with_arrays, with_next=True):
        twice(opyard.tensor([1.0]))
    assert kinds == [np.ndarray]


def test_X4_an_exception_passes_through_call_next_as_itself(define, x):
    error = KeyError("mine")

    def failing(x):
        raise error

    f = define("f(Tensor x) -> Tensor", CPU=failing)
    with override(f, "CPU", plus(1), with_next=True):
        with pytest.raises(KeyError) as caught:
            f(x)
    assert caught.value is error


def test_X4_defaults_and_keywords_go_to_call_next(define, x):
    f = define(
        "f(Tensor x, int n=1, *, float s=2.0) -> Tensor", CPU=lambda x, n=1, *, s=2.0: x * n * s
    )
    with override(f, "CPU", lambda call_next, *args, **named: call_next(*args, **named),
                  with_next=True):  # fmt: skip
        assert f(x).tolist() == [2.0, 4.0, 6.0]
        assert f(x, 3, s=1.0).tolist() == [3.0, 6.0, 9.0]


def test_F7_X4_the_key_set_comes_before_call_next(twice, x):
    seen = []

    def kernel(keyset, call_next, x):
        seen.append((keyset, call_next.keyset))
        return call_next(x)

    with override(twice, "CPU", kernel, with_keyset=True, with_next=True):
        twice(x)
    [(first, second)] = seen
    assert first == second and first.has("CPU")


def test_X4_kernels_of_libraries_have_call_next_too(ns, twice, x):
    upper = Library(ns, "IMPL", "CPU")
    upper.impl("twice", plus(1), with_next=True, allow_override=True)
    assert twice(x).tolist() == [3.0, 5.0, 7.0]
    upper.impl("twice", plus(2), with_next=True)  # replaces its own: there is one of them still
    assert twice(x).tolist() == [4.0, 6.0, 8.0]
    upper._destroy()


def test_X4_the_name_and_the_place_are_shown(twice, x):
    name = twice.qualified_name
    with override(twice, "CPU", lambda x: x, name="idle") as ov:
        shown = f'registered at {ov.provenance} (override "idle")'
        assert shown in dispatch.dump(name).splitlines()[4]
        assert f"CPU: {shown} [kernel]" in dispatch.dump_table(name).splitlines()
        assert dispatch.explain(twice.default, x).kernel == shown
        assert dispatch.history(name)[-1].provenance == shown
        assert repr(ov) == f'<override "idle" of {name} at CPU, {ov.provenance}>'
    assert not dispatch.history(name)[-1].added


def test_X4_several_operators_and_keys_at_once(define, library, x):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x)
    g = define("g(Tensor x) -> Tensor", CPU=lambda x: x)
    g_out = library.define("g.out(Tensor x, int n) -> Tensor")
    library.impl("g.out", lambda x, n: x, "CPU")
    with override([f, g.default, g_out], ["CPU", "Meta"], lambda x, *rest: x * 3) as ov:
        assert ov.operators == (f.qualified_name, g.qualified_name, g_out)
        assert f(x).tolist() == g(x).tolist() == g(x, 1).tolist() == [3.0, 6.0, 9.0]
        assert all(dispatch.has_kernel(name, "Meta") for name in ov.operators)
        assert repr(ov).startswith(f"<override of {f.qualified_name} and 2 more at CPU, Meta, ")
    assert g(x, 1).tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("spelling", ["text", "object"])
def test_X4_a_whole_namespace(ns, define, x, spelling):
    f = define("f(Tensor x) -> Tensor", CPU=lambda x: x)
    g = define("g(Tensor x, int n) -> Tensor", CPU=lambda x, n: x * n)
    calls = []

    def counting(call_next, *args):
        calls.append(call_next.op)
        return call_next(*args)

    what = f"{ns}::*" if spelling == "text" else getattr(opyard.ops, ns)
    with override(what, "CPU", counting, with_next=True):
        f(x)
        assert g(x, 2).tolist() == [2.0, 4.0, 6.0]
    assert calls == [f.default, g.default]


def test_X4_as_a_decorator(twice, x):
    @override(twice, "CPU", name="ten")
    def ten(x):
        return x * 10

    assert isinstance(ten, override)
    assert twice(x).tolist() == [10.0, 20.0, 30.0]
    with ten:
        pass
    assert twice(x).tolist() == [2.0, 4.0, 6.0]


def test_X4_dropping_an_override_removes_it(twice, x):
    ov = override(twice, "CPU", lambda x: x)
    assert twice(x).tolist() == [1.0, 2.0, 3.0]
    del ov
    assert twice(x).tolist() == [2.0, 4.0, 6.0]


def test_X4_several_overrides_are_all_made_or_none(twice, x):
    before = dispatch.dump(twice.qualified_name)
    with pytest.raises(LookupError):
        override(twice, ["CPU", "Cpu"], lambda x: x)
    with pytest.raises(RuntimeError):
        override(twice, ["CPU", "Dense"], lambda x: x)
    assert dispatch.dump(twice.qualified_name) == before


def test_X4_wrong_uses_are_refused(ns, twice):
    name = twice.qualified_name
    for wrong, error, message in [
        (lambda: override(twice, "CPU", 3), TypeError,
         "Input function is required to be a callable but found type <class 'int'>"),
        (lambda: override(f"{ns}none::*", "CPU", len), LookupError,
         f"no operator of the namespace {ns}none is defined"),
        (lambda: override([], "CPU", len), ValueError, "override() got an empty list of operators"),
        (lambda: override(twice, [], len), ValueError,
         "override() got an empty list of dispatch keys"),
        (lambda: override(twice, "CPU", len, name=3), TypeError,
         "the name of an override must be a str, not a int"),
        (lambda: override(twice, "CPU", len, name="a\nb"), ValueError,
         "the name of an override is printable and without quotes: 'a\\nb'"),
        (lambda: override(twice, "CPU").__enter__(), RuntimeError,
         "this override has no function; give it one before the with block"),
    ]:  # fmt: skip
        with pytest.raises(error) as caught:
            wrong()
        assert str(caught.value.args[0]) == message
    ov = override(twice, "CPU", len)
    with pytest.raises(TypeError) as caught:
        ov(len)
    assert str(caught.value) == (
        f"<override of {name} at CPU, {ov.provenance}> has its function already; call the operator "
        "to run it"
    )
    ov.remove()
    ov.remove()
    with pytest.raises(RuntimeError) as caught:
        ov.__enter__()
    assert str(caught.value) == "this override was removed already; make a new one"


def test_X4_stacks_change_while_threads_call(twice, x):
    stop = threading.Event()
    wrong = []

    def caller():
        while not stop.is_set():
            first = twice(x).tolist()[0]
            if first not in (2.0, 3.0, 4.0, 5.0):
                wrong.append(first)

    threads = [threading.Thread(target=caller) for _ in range(3)]
    for thread in threads:
        thread.start()
    for _ in range(300):
        made = [override(twice, "CPU", plus(1), with_next=True) for _ in range(3)]
        made.pop(1).remove()
        made.pop(0).remove()
        made.pop().remove()
    stop.set()
    for thread in threads:
        thread.join()
    assert not wrong
