"""test_keys.py: dispatch keys as enum members, and the names that a program gives them.

A name stays as long as the process lives, so each test that gives one is a program of its own.
Suspect pyfallback/bind/keys.cpp, dispatcher/src/keys/.
"""

import pytest

from opyard.dispatch import (
    DispatchKey,
    LayerGap,
    has_fallback,
    has_kernel,
    register_layer,
    rename_backend,
)

pytestmark = pytest.mark.once


def ends_well(run_program, program):
    done = run_program(program)
    assert (done.returncode, done.stderr) == (0, "")


def test_A9_a_key_is_found_by_name_number_and_attribute():
    assert DispatchKey("AutogradCPU") is DispatchKey.AutogradCPU is DispatchKey["AutogradCPU"]
    assert DispatchKey(int(DispatchKey.CPU)) is DispatchKey.CPU
    for nothing in ("Nope", "", 9999, None):
        with pytest.raises(ValueError, match="is not a valid DispatchKey"):
            DispatchKey(nothing)


def test_A10_a_renamed_backend_has_its_name_everywhere_in_python(run_program):
    ends_well(
        run_program,
        """
        import pickle
        import opyard
        from opyard.dispatch import *
        from opyard.library import Library

        key = DispatchKey.PrivateUse1
        assert rename_backend("PrivateUse1", "foo") is key
        assert DispatchKey.foo is key is DispatchKey["foo"] is DispatchKey("foo")
        assert DispatchKey.PrivateUse1 is key is DispatchKey("PrivateUse1")
        assert (str(key), repr(key), f"{key:>4}") == ("foo", "DispatchKey.foo", " foo")
        assert str(DispatchKey.AutogradPrivateUse1) == "Autogradfoo"
        assert DispatchKey.Autogradfoo is DispatchKey.AutogradPrivateUse1
        assert repr(DispatchKeySet(["foo", "Autogradfoo"])) == "DispatchKeySet(foo, Autogradfoo)"
        assert DispatchKey.foo in DispatchKeySet("PrivateUse1")
        assert [*DispatchKeySet("foo")] == [DispatchKey.foo]
        assert pickle.loads(pickle.dumps(key)) is key
        assert list(DispatchKey).count(key) == 1
        assert str(opyard.device("foo", 1)) == "foo:1"

        rename_backend(key, "foo")  # the same again
        try:
            rename_backend(DispatchKey.foo, "bar")
        except RuntimeError as error:
            assert str(error) == (
                'PrivateUse1 is called foo already and cannot be renamed to "bar"'), error
        else:
            raise AssertionError

        lib = Library("t", "FRAGMENT")
        lib.define("f() -> str")
        lib.impl("f", lambda: "foo", "foo")
        lib.impl("f", lambda: "auto", DispatchKey.AutogradPrivateUse1)
        assert "foo: registered at" in dump("t::f")
        assert "Autogradfoo: registered at" in dump_table("t::f")
        assert "PrivateUse1" not in dump("t::f") + dump_table("t::f")
        with ForceDispatchKeyGuard(DispatchKeySet("foo"), DispatchKeySet()):
            assert opyard.ops.t.f() == "foo"
        with ForceDispatchKeyGuard(DispatchKeySet("Sparsefoo"), DispatchKeySet()):
            try:
                opyard.ops.t.f()
            except NotImplementedError as error:
                assert str(error).startswith("t::f has no kernel at Sparsefoo"), error
        assert repr(Library("t", "IMPL", key)) == "Library(kind=IMPL, ns=t, dispatch_key=foo)"
        check_invariants()
        """,
    )


def test_A10_free_backends_and_layers_are_named(run_program):
    ends_well(
        run_program,
        """
        import opyard
        from opyard.dispatch import *
        from opyard.library import Library

        npu = register_backend("npu")
        assert npu is DispatchKey.npu is DispatchKey.UserBackend1
        assert DispatchKey.Autogradnpu is DispatchKey.AutogradUserBackend1
        audit = register_layer("Audit", "OnTop")
        second = register_layer("Second", LayerGap.OnTop)
        assert (audit, second) == (DispatchKey.OnTop1, DispatchKey.OnTop2)
        assert (str(audit), DispatchKey.Audit) == ("Audit", audit)
        # A name that members have as an attribute is found by name only.
        assert register_layer("name", "AboveAutograd") is DispatchKey["name"]
        assert DispatchKey.CPU.name == "CPU"

        lib = Library("t", "FRAGMENT")
        lib.define("f() -> str")
        lib.impl("f", lambda: "npu", "npu")
        with ForceDispatchKeyGuard(DispatchKeySet([npu, audit]), DispatchKeySet()):
            assert opyard.ops.t.f() == "npu", "a layer without a kernel falls through"
            lib.impl("f", lambda: "audit", audit)
            assert opyard.ops.t.f() == "audit"

        for call, kind, text in [
            (lambda: register_layer("Third", "OnTop"), RuntimeError,
             'there is no layer left to call "Third" in this gap; both are taken: Audit, Second'),
            (lambda: register_backend("npu"), ValueError,
             '"npu" cannot name a dispatch key: npu is one already'),
            (lambda: register_backend("a b"), ValueError,
             '"a b" cannot name a dispatch key: a name takes letters, digits and underscores, and '
             "begins with no digit"),
        ]:
            try:
                call()
            except kind as error:
                assert str(error) == text, error
            else:
                raise AssertionError(text)
        for number in range(2, 9):
            register_backend(f"dev{number}")
        try:
            register_backend("more")
        except RuntimeError as error:
            assert str(error).startswith('there is no backend left to call "more"'), error
        else:
            raise AssertionError
        """,
    )


def test_A10_what_cannot_be_renamed():
    for key, text in [
        ("CUDA", "CUDA cannot be renamed"),
        ("AutogradPrivateUse1", "AutogradPrivateUse1 is no backend and cannot be renamed"),
        ("Tracer", "Tracer is no backend and cannot be renamed"),
    ]:
        with pytest.raises(RuntimeError, match=f'^{text} to "x"; only PrivateUse1, PrivateUse2'):
            rename_backend(key, "x")
    with pytest.raises(LookupError, match="Nope"):
        rename_backend("Nope", "x")
    with pytest.raises(LookupError, match=r"^no dispatch key has the number 9999$"):
        rename_backend(9999, "x")


def test_a_gap_that_is_none_is_refused():
    assert [gap.value for gap in LayerGap] == [
        "AboveBackendSelect",
        "AboveADInplaceOrView",
        "AboveAutograd",
        "OnTop",
    ]
    with pytest.raises(ValueError) as caught:
        register_layer("x", "Below")
    assert str(caught.value) == (
        "'Below' is no gap between layers; the gaps are AboveBackendSelect, AboveADInplaceOrView, "
        "AboveAutograd, OnTop"
    )


@pytest.mark.parametrize("key", [1.5, b"CPU", [], object], ids=repr)
def test_A9_what_is_no_key_at_all_is_told_as_such(key):
    with pytest.raises(
        TypeError, match="^a dispatch key must be a DispatchKey, its number or its name"
    ):
        has_kernel("a::b", key)
    with pytest.raises(TypeError, match=f"not {type(key).__name__}$"):
        has_fallback(key)


def test_A9_the_key_of_the_dispatcher_is_nobody_else_s():
    with pytest.raises(LookupError, match="^the key ThreadEntry belongs to the dispatcher$"):
        has_fallback("ThreadEntry")
