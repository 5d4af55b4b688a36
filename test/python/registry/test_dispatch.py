"""test_dispatch.py: keys, key sets, guards, dumps, explanations.

Suspect dispatch.py, key_set.cpp.
"""

import copy
import pickle
import re
import threading

import pytest
from raised import message_of

import opyard
from opyard import _C
from opyard.dispatch import (
    AutoDispatchBelowADInplaceOrView,
    AutoDispatchBelowAutograd,
    DispatchKey,
    DispatchKeySet,
    ExcludeDispatchKeyGuard,
    Explanation,
    ForceDispatchKeyGuard,
    IncludeDispatchKeyGuard,
    PreserveDispatchKeyGuard,
    SetExcludeDispatchKeyGuard,
    check_invariants,
    dump,
    dump_table,
    explain,
    keys_of,
    tls_is_dispatch_key_excluded,
    tls_is_dispatch_key_included,
    tls_local_exclude_set,
    tls_local_include_set,
    tls_set_dispatch_key_excluded,
    tls_set_dispatch_key_included,
)

DEFAULTS = (
    DispatchKeySet(["BackendSelect", "ADInplaceOrView"]),
    DispatchKeySet(["AutocastCPU", "AutocastCUDA"]),
)


@pytest.fixture(autouse=True)
def keys_of_the_thread_stay_as_they_were():
    assert _C.local_keys() == DEFAULTS
    yield
    assert _C.local_keys() == DEFAULTS


# A25, A26: keys and sets ------------------------------------------------------------------


def test_A25_keys_print_their_name():
    assert repr(DispatchKey.AutogradCPU) == "DispatchKey.AutogradCPU"
    assert str(DispatchKey.AutogradCPU) == "AutogradCPU"
    assert f"{DispatchKey.AutogradCPU}" == "AutogradCPU"
    assert f"{DispatchKey.AutogradCPU:>12}" == " AutogradCPU"


def test_A25_every_key_is_exported():
    for name, number in _C.dispatch_keys():
        assert DispatchKey[name] == number
        assert repr(DispatchKey(number)) == f"DispatchKey.{name}"
    assert "ThreadEntry" not in DispatchKey.__members__
    assert {"CPU", "CUDA", "Meta", "AutogradOther", "Autograd", "CompositeImplicitAutograd"} <= {
        *DispatchKey.__members__
    }


def test_A25_sets_print_low_to_high():
    assert repr(DispatchKeySet()) == "DispatchKeySet()"
    keys = DispatchKeySet(["Tracer", "CPU", "AutogradCPU", "BackendSelect"])
    assert repr(keys) == "DispatchKeySet(CPU, BackendSelect, AutogradCPU, Tracer)"
    assert str(keys) == repr(keys)


def test_A24_iteration_yields_keys_low_to_high():
    keys = DispatchKeySet(["CPU", "CUDA", "BackendSelect", "AutogradCPU"])
    assert [*keys] == [
        DispatchKey.CPU,
        DispatchKey.CUDA,
        DispatchKey.BackendSelect,
        DispatchKey.AutogradCPU,
        DispatchKey.AutogradCUDA,  # A22: a set is a cross product
    ]
    assert all(type(key) is DispatchKey for key in keys)
    assert [*DispatchKeySet()] == []


def test_A26_sets_have_members_a_length_and_truth():
    keys = DispatchKeySet(["CPU", "Tracer"])
    assert DispatchKey.CPU in keys and "Tracer" in keys and int(DispatchKey.CPU) in keys
    assert DispatchKey.CUDA not in keys
    assert (len(keys), len(DispatchKeySet())) == (2, 0)
    assert keys and not DispatchKeySet()


def test_A26_sets_are_hashable():
    assert len({DispatchKeySet("CPU"), DispatchKeySet(["CPU"]), DispatchKeySet()}) == 2


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_A26_sets_and_keys_are_picklable(protocol):
    for keys in (DispatchKeySet(), DispatchKeySet(["CPU", "PythonDispatcher"])):
        assert pickle.loads(pickle.dumps(keys, protocol)) == keys
    key = DispatchKey.AutogradCPU
    assert pickle.loads(pickle.dumps(key, protocol)) is key


def test_A26_copies_are_equal():
    keys = DispatchKeySet("CPU")
    assert copy.copy(keys) == keys and copy.deepcopy(keys) == keys


def test_A26_raw_bits_round_trip():
    for bits in (0, 1, 1 << 16, (1 << 63) - 1):
        assert DispatchKeySet.from_raw_repr(bits).raw_repr() == bits
    for bits in (-1, 1 << 64):
        with pytest.raises(ValueError, match=rf"^from_raw_repr: the bits are {bits}; a key set"):
            DispatchKeySet.from_raw_repr(bits)
    with pytest.raises(TypeError):
        DispatchKeySet.from_raw_repr("1")


def test_A20_operations():
    a, b = DispatchKeySet(["CPU", "Tracer"]), DispatchKeySet(["CPU", "Python"])
    assert a | b == DispatchKeySet(["CPU", "Tracer", "Python"])
    assert a & b == DispatchKeySet("CPU")
    assert a ^ b == DispatchKeySet(["Tracer", "Python"])
    assert a - b == DispatchKeySet.from_raw_repr(a.raw_repr() & ~(b.raw_repr() >> 16 << 16))
    assert a != b and a == DispatchKeySet(["Tracer", "CPU"])
    assert (a == 3) is False
    with pytest.raises(TypeError):
        a | "CPU"


def test_A20_difference_leaves_backends():
    assert "CPU" in DispatchKeySet(["CPU", "AutogradCPU"]) - DispatchKeySet("AutogradCPU")


def test_A21_add_and_remove_make_new_sets():
    keys = DispatchKeySet("CPU")
    more = keys.add("AutogradCPU")
    assert keys == DispatchKeySet("CPU")
    assert more == DispatchKeySet(["CPU", "AutogradCPU"])
    assert more.remove("AutogradCPU") == keys
    assert more.has("AutogradCPU") and not more.has("AutogradCUDA")


def test_A23_the_highest_key():
    assert DispatchKeySet(["CPU", "AutogradCPU"]).highest() is DispatchKey.AutogradCPU
    assert DispatchKeySet().highest() is DispatchKey.Undefined


def test_A9_names_numbers_and_members_are_keys():
    for key in ("CUDA", DispatchKey.CUDA, int(DispatchKey.CUDA)):
        assert DispatchKeySet(key) == DispatchKeySet(DispatchKey.CUDA)
        assert DispatchKeySet([key]).has(key)
    assert "could not parse dispatch key: CPPU" in message_of(LookupError, DispatchKeySet, "CPPU")
    assert "no dispatch key has the number 54321" in message_of(LookupError, DispatchKeySet, 54321)
    assert message_of(TypeError, DispatchKeySet, 1.5) == "a dispatch key must be a str, not float"


def test_A18_alias_keys_are_no_members():
    text = "an alias key stands for several keys and cannot be a member of a key set"
    assert text in message_of(ValueError, DispatchKeySet, "Autograd")
    assert text in message_of(ValueError, DispatchKeySet().has, "Autograd")


def test_keys_of_a_tensor(x):
    assert keys_of(x) == DispatchKeySet(["CPU", "ADInplaceOrView", "AutogradCPU"])
    assert message_of(TypeError, keys_of, [1]) == "expected a Tensor, not list"


# A30, A31: what a thread adds -------------------------------------------------------------


@pytest.mark.parametrize(
    ("guard", "get"),
    [
        (IncludeDispatchKeyGuard, tls_local_include_set),
        (ExcludeDispatchKeyGuard, tls_local_exclude_set),
    ],
)
def test_A30_guards_add_what_is_missing_and_take_only_that_back(guard, get):
    before = get()
    present = next(iter(before))
    keys = DispatchKeySet([present, DispatchKey.Tracer])
    with guard(keys):
        assert get() == before | keys
        with guard("Tracer"):
            assert get() == before | keys
        assert "Tracer" in get(), "the inner guard found it there and leaves it"
    assert get() == before


@pytest.mark.parametrize("guard", [IncludeDispatchKeyGuard, ExcludeDispatchKeyGuard])
def test_A30_guards_end_with_an_exception(guard):
    with pytest.raises(KeyError), guard("Tracer"):
        raise KeyError


def test_A30_a_guard_may_be_used_again_also_inside_itself():
    guard = IncludeDispatchKeyGuard("Tracer")
    for _ in range(2):
        with guard:
            with guard:
                assert tls_is_dispatch_key_included("Tracer")
            assert tls_is_dispatch_key_included("Tracer")
        assert not tls_is_dispatch_key_included("Tracer")


def test_A30_guards_add_backends_and_take_them_back():
    with IncludeDispatchKeyGuard("CUDA"):
        assert tls_is_dispatch_key_included("CUDA")
    assert _C.local_keys() == DEFAULTS


def test_A30_force_replaces_both_sets():
    with IncludeDispatchKeyGuard("Tracer"):
        with ForceDispatchKeyGuard("Python", DispatchKeySet()):
            assert _C.local_keys() == (DispatchKeySet("Python"), DispatchKeySet())
        assert tls_is_dispatch_key_included("Tracer")


def test_A31_preserve_undoes_whatever_happened():
    with PreserveDispatchKeyGuard():
        tls_set_dispatch_key_included("Tracer", True)
        tls_set_dispatch_key_excluded("AutocastCPU", False)
    assert _C.local_keys() == DEFAULTS


def test_A31_one_key_is_set_and_asked_for():
    for change, ask in [
        (tls_set_dispatch_key_included, tls_is_dispatch_key_included),
        (tls_set_dispatch_key_excluded, tls_is_dispatch_key_excluded),
    ]:
        assert not ask("Tracer")
        change(DispatchKey.Tracer, True)
        assert ask("Tracer")
        change(DispatchKey.Tracer, False)
        assert not ask("Tracer")


def test_A31_set_exclude_guard_takes_a_key_out_for_a_while():
    with SetExcludeDispatchKeyGuard("AutocastCPU", False):
        assert not tls_is_dispatch_key_excluded("AutocastCPU")
        assert tls_is_dispatch_key_excluded("AutocastCUDA")
    assert tls_is_dispatch_key_excluded("AutocastCPU")
    with SetExcludeDispatchKeyGuard("Tracer", True):
        assert tls_is_dispatch_key_excluded("Tracer")
    assert not tls_is_dispatch_key_excluded("Tracer")


def test_A31_below_autograd(define, x):
    op = define("op(Tensor x) -> str", CPU=lambda x: "cpu", AutogradCPU=lambda x: "autograd")
    assert op(x) == "autograd"
    with AutoDispatchBelowAutograd():
        assert op(x) == "cpu"
    assert op(x) == "autograd"


def test_A30_below_writes_and_views(define, x):
    op = define("op(Tensor x) -> str", CPU=lambda x: "cpu", ADInplaceOrView=lambda x: "view",
                AutogradCPU=lambda x: "autograd")  # fmt: skip
    with AutoDispatchBelowAutograd():
        assert op(x) == "view"
        with AutoDispatchBelowADInplaceOrView():
            assert op(x) == "cpu"
        assert op(x) == "view"
    with AutoDispatchBelowADInplaceOrView():
        assert op(x) == "cpu"
    assert op(x) == "autograd"


def test_A28_exclude_wins_over_include(define, x):
    op = define("op(Tensor x) -> str", CPU=lambda x: "cpu", Tracer=lambda x: "tracer")
    assert op(x) == "cpu"
    with IncludeDispatchKeyGuard("Tracer"):
        assert op(x) == "tracer"
        with ExcludeDispatchKeyGuard("Tracer"):
            assert op(x) == "cpu"


def test_A33_a_new_thread_starts_with_the_defaults():
    seen = []
    with IncludeDispatchKeyGuard("Tracer"):
        thread = threading.Thread(target=lambda: seen.append(_C.local_keys()))
        thread.start()
        thread.join()
    assert seen == [DEFAULTS]


# B38, B39: dumps --------------------------------------------------------------------------


@pytest.fixture
def dumped(library, ns):
    """An operator with kernels at several keys, one of them covered, and the line it is at."""
    library.define("op.ov(Tensor x) -> Tensor")
    library.impl("op.ov", lambda x: x, "AutogradCPU")
    library.impl("op.ov", lambda x: x, "CPU")
    library.impl("op.ov", lambda x: x, "CompositeImplicitAutograd")
    library.impl("op.ov", lambda x: x, "BackendSelect")
    library.impl("op.ov", opyard.library.fallthrough_kernel, "Tracer")
    second = opyard.library.Library(ns, "IMPL", "CPU")
    second.impl("op.ov", lambda x: x, allow_override=True)
    yield f"{ns}::op.ov"
    second._destroy()


def lines_of(op, text):
    """With `registered at file:line` as `line+n`, counted from the definition."""
    first = int(re.search(r"debug: registered at .*:(\d+)$", dump(op), re.MULTILINE)[1])
    file = re.escape(__file__)
    return re.sub(rf"registered at {file}:(\d+)", lambda m: f"line+{int(m[1]) - first}", text)


def test_B38_dump(dumped):
    name, _, overload = dumped.partition(".")
    assert lines_of(dumped, dump(dumped)) == (
        f"name: {name}.{overload}\n"
        f"schema: {dumped}(Tensor x) -> Tensor\n"
        "debug: line+0\n"
        "alias analysis kind: FROM_SCHEMA\n"
        "BackendSelect: line+4 :: (none) [ boxed ]\n"
        "Tracer: line+5 :: (none) [ fallthrough boxed ]\n"
        "CPU: line+7 :: (none) [ boxed ]\n"
        "CPU (inactive): line+2 :: (none) [ boxed ]\n"
        "AutogradCPU: line+1 :: (none) [ boxed ]\n"
        "CompositeImplicitAutograd[alias]: line+3 :: (none) [ boxed ]\n"
    )


def test_B38_operators_are_named_in_four_ways(dumped):
    packet = getattr(opyard.ops, dumped.partition("::")[0]).op
    assert dump(dumped) == dump(packet.ov) == dump(packet) != ""
    assert dump_table(dumped) == dump_table(packet.ov) == dump_table(packet) != ""


def test_B38_a_packet_stands_for_all_its_overloads(library, ns):
    library.define("two.a() -> ()")
    library.define("two.b(int n) -> ()")
    packet = getattr(opyard.ops, ns).two
    assert dump(packet) == dump(packet.a) + dump(packet.b)


def test_B38_an_operator_that_is_not_there_has_no_lines(ns):
    with opyard.library.Library(ns, "FRAGMENT") as library:
        library.define("gone() -> ()")
    assert dump(f"{ns}::gone") == "" == dump_table(f"{ns}::gone")
    assert dump(f"{ns}::nope") == ""
    with pytest.raises(LookupError, match=f"operator {ns}::nope does not exist"):
        dump_table(f"{ns}::nope")
    with pytest.raises(ValueError, match="1:"):
        dump("no name at all(")
    with pytest.raises(TypeError, match="not as int"):
        dump(3)


def test_B39_dump_table(dumped):
    lines = lines_of(dumped, dump_table(dumped, whole=True)).splitlines()
    assert lines[0] == "Undefined: line+3 [math kernel]"
    assert lines[1] == "CPU: line+7 [kernel]"
    assert "CUDA: line+3 [math kernel]" in lines
    assert "BackendSelect: line+4 [kernel]" in lines
    assert "AutogradCPU: line+1 [kernel]" in lines
    assert "AutogradCUDA: line+3 [math kernel]" in lines
    assert "Tracer: fallthrough line+5 [kernel]" in lines
    keys = [DispatchKey[line.partition(":")[0]] for line in lines]
    wanted = ["Undefined", "CPU", "CUDA", "BackendSelect", "AutogradCPU", "AutogradCUDA", "Tracer"]
    positions = [keys.index(DispatchKey[key]) for key in wanted]
    assert positions == sorted(positions), "in order of priority"


def test_B40_invariants_hold(dumped):
    check_invariants()


# Explanations -----------------------------------------------------------------------------


def test_explain_says_where_a_call_goes(define, x):
    op = define("op(Tensor x, int n, Tensor[] xs) -> str", CPU=lambda x, n, xs: "cpu")
    found = explain(op, x, 1, xs=[x])
    assert isinstance(found, Explanation)
    assert found.op == op.qualified_name
    assert found.declaration == op.default.declaration
    assert [(a.position, a.name, a.keys) for a in found.arguments] == [
        (0, "x", keys_of(x)),
        (2, "xs", keys_of(x)),
    ]
    assert (found.include, found.exclude) == DEFAULTS
    assert found.keys == keys_of(x).add("BackendSelect")
    assert found.key is DispatchKey.CPU
    assert found.has_kernel
    assert re.fullmatch(r"registered at .*conftest\.py:\d+", found.kernel)
    assert [(c.key.name, c.taken, c.reason) for c in found.considered] == [
        ("AutogradCPU", False, "falls through"),
        ("ADInplaceOrView", False, "falls through"),
        ("BackendSelect", False, "falls through"),
        ("CPU", True, "kernel"),
    ]
    assert found.considered[-1].provenance == found.kernel


def test_explain_follows_the_thread(define, x):
    op = define("op(Tensor x) -> str", CPU=lambda x: "cpu", Tracer=lambda x: "tracer")
    with IncludeDispatchKeyGuard("Tracer"):
        found = explain(op, x)
    assert (found.key, found.considered[0].key) == (DispatchKey.Tracer, DispatchKey.Tracer)


def test_explain_agrees_with_the_call(define, x):
    ran = []
    keys = ["CPU", "AutogradCPU", "BackendSelect", "Tracer", "Python"]
    op = define("op(Tensor x) -> ()", **{key: lambda x, key=key: ran.append(key) for key in keys})
    for include in ([], ["Tracer"], ["Python"], ["Tracer", "Python"]):
        for exclude in ([], ["AutogradCPU"], ["AutogradCPU", "BackendSelect"], ["Tracer"]):
            with ForceDispatchKeyGuard(DispatchKeySet(include), DispatchKeySet(exclude)):
                expected = explain(op, x).key.name
                op(x)
            assert ran[-1] == expected


def test_explain_resolves_overloads(library, ns, x):
    library.define("op.a(int n) -> ()")
    library.define("op.b(Tensor x) -> ()")
    packet = getattr(opyard.ops, ns).op
    assert explain(packet, x).op == f"{ns}::op.b"
    assert explain(f"{ns}::op", 1).op == f"{ns}::op.a"
    assert explain(f"{ns}::op.b", x).op == f"{ns}::op.b"
    with pytest.raises(TypeError, match="failed to match any schema"):
        explain(packet, "text")


def test_explain_makes_no_call(define, x):
    op = define("op(Tensor x) -> ()", CPU=lambda x: pytest.fail("called"))
    explain(op, x)
    with pytest.raises(TypeError, match="missing value for argument 'x'"):
        explain(op)


def test_explain_refuses_what_is_no_operator(ns):
    assert "not int" in message_of(TypeError, explain, 3)
    assert f"operator {ns}::nope does not exist" in message_of(LookupError, explain, f"{ns}::nope")


def test_explain_as_text(define, x):
    op = define("op(Tensor x) -> str", CPU=lambda x: "cpu")
    found = explain(op, x)
    assert str(found) == (
        f"{op.default.declaration}\n"
        "  argument 0 'x': DispatchKeySet(CPU, ADInplaceOrView, AutogradCPU)\n"
        "  thread includes:  DispatchKeySet(BackendSelect, ADInplaceOrView)\n"
        "  thread excludes:  DispatchKeySet(AutocastCPU, AutocastCUDA)\n"
        "  keys of the call: DispatchKeySet(CPU, BackendSelect, ADInplaceOrView, AutogradCPU)\n"
        "     AutogradCPU            falls through, built in\n"
        "     ADInplaceOrView        falls through, built in\n"
        "     BackendSelect          falls through, built in\n"
        f"  -> CPU                    kernel, {found.kernel}\n"
        f"  runs at CPU: {found.kernel}\n"
    )


def test_explain_a_call_that_finds_no_kernel(define, x):
    op = define("op(Tensor x) -> str", CUDA=lambda x: "cuda")
    found = explain(op, x)
    assert (found.key, found.has_kernel, found.kernel) == (DispatchKey.CPU, False, "no kernel")
    assert str(found).endswith("  no kernel at CPU\n")


def test_B41_a_call_without_a_kernel_lists_what_was_considered(define, x):
    op = define("op(Tensor x) -> str", CUDA=lambda x: "cuda")
    lines = message_of(NotImplementedError, op, x).splitlines()
    assert op.qualified_name in lines[0] and "CPU" in lines[0]
    text = "\n".join(lines)
    for key, reason in [("AutogradCPU", "falls through"), ("CPU", "no kernel")]:
        assert re.search(rf"^\s+(-> )?{key}\s+{reason}", text, re.MULTILINE)
    assert "CUDA" in lines[-1]


def test_B41_a_call_without_tensors(define):
    op = define("op(int n) -> str", CPU=lambda n: "cpu")
    text = message_of(NotImplementedError, op, 1)
    assert op.qualified_name in text
