"""test_teaching.py: the tables of PythonDispatcher, whole.

Suspect opyard/_dispatch/table_model.py.
"""

import pytest

from opyard.dispatch import PythonDispatcher, check_invariants

pytestmark = pytest.mark.once


def message_of(call, *args):
    with pytest.raises(RuntimeError) as caught:
        call(*args)
    return str(caught.value)


def lines(*rows):
    return "".join(f"{key:<32} {kernel}\n" for key, kernel in rows)


def test_B44_the_tables_of_backends_and_a_composite():
    d = PythonDispatcher()
    d.register(["CPU", "XLA", "CompositeImplicitAutograd"])
    head = f"{'key':<32} kernel\n{'-' * 60}\n"
    assert d.registrations() == "\nRegistered Kernels\n" + head + lines(
        ("CPU", "fn_CPU"),
        ("XLA", "fn_XLA"),
        ("CompositeImplicitAutograd[alias]", "fn_CompositeImplicitAutograd"),
    )
    math = "fn_CompositeImplicitAutograd [math kernel]"
    passed = "fallthrough built in [backend fallback]"
    assert d.dispatch_table() == "\nComputed Dispatch Table\n" + head + lines(
        ("CPU", "fn_CPU [kernel]"),
        ("AutogradCPU", passed),
        ("QuantizedCPU", math),
        ("AutogradOther", math),
        ("XLA", "fn_XLA [kernel]"),
        ("AutogradXLA", passed),
        ("Lazy", math),
        ("AutogradLazy", math),
    )
    check_invariants()


def test_B44_an_ambiguous_table():
    d = PythonDispatcher()
    d.register(["QuantizedCPU", "CompositeImplicitAutograd"])
    assert (
        "\nAutogradOther                    ambiguous_autogradother [ambiguous autogradother]\n"
        in (d.dispatch_table())
    )
    assert d.raw_registrations().startswith(
        f"name: {d.name}\nschema: {d.name}(Tensor x) -> Tensor\n"
    )
    assert "\nLazy: registered at fn_Comp" in d.raw_dispatch_table()


def test_B44_what_is_refused():
    d = PythonDispatcher()
    assert message_of(d.register, ["CPU", "XLA", "CPU"]) == (
        "Overriden is not allowed but found "  # codespell:ignore
        "duplicates in ['CPU', 'XLA', 'CPU']."
    )
    assert message_of(d.register, ["CompositeImplicitAutograd", "CompositeExplicitAutograd"]) == (
        "Registration to both CompositeImplicitAutograd and CompositeExplicitAutograd is not "
        "allowed."
    )
    assert message_of(d.register, ["CPU", "HIP"]) == (
        "HIP is not supported, please select a dispatch key in ['CPU', 'AutogradCPU', "
        "'QuantizedCPU', 'AutogradOther', 'XLA', 'AutogradXLA', 'Lazy', 'AutogradLazy', "
        "'CompositeExplicitAutograd', 'Autograd', 'CompositeImplicitAutograd']."
    )
    assert "fn_" not in d.registrations(), "nothing was registered"
    d.register(["CPU", "CompositeExplicitAutograd"])
    assert message_of(d.register, ["CPU"]) == (
        "Overriden is not allowed but found duplicates in "  # codespell:ignore
        "['CPU', 'CompositeExplicitAutograd', 'CPU']."
    )
    message_of(d.register, ["CompositeImplicitAutograd"])
    assert d.keys() == d.supported_keys


def test_B44_dispatchers_do_not_see_each_other():
    one, other = PythonDispatcher(), PythonDispatcher()
    one.register(["CPU"])
    assert "fn_CPU" not in other.registrations()
