"""test_library.py: registering from Python, and taking it back. Suspect library.py, library.cpp."""

import gc
import re
import sys
import threading
import warnings

import pytest
from processes import volume
from raised import message_of

import opyard
from opyard.dispatch import (
    DispatchKey,
    dump,
)
from opyard.library import Library

OVERRIDING = (
    "Overriding a previously registered kernel for the same operator and the same dispatch key"
)


def here(offset=0):
    """'file:line' of the caller, as provenances name it."""
    frame = sys._getframe(1)
    return f"{frame.f_code.co_filename}:{frame.f_lineno + offset}"


# F1 ---------------------------------------------------------------------------------------


def test_F1_repr(ns):
    assert repr(Library(ns, "DEF")) == f"Library(kind=DEF, ns={ns}, dispatch_key=)"
    assert repr(Library(ns, "IMPL", "CPU")) == f"Library(kind=IMPL, ns={ns}, dispatch_key=CPU)"
    assert repr(Library(ns, "IMPL", DispatchKey.Meta)).endswith("dispatch_key=Meta)")


def test_F1_define_gives_the_name_with_its_overload(library, ns):
    assert library.define("foo(Tensor x) -> Tensor") == f"{ns}::foo"
    assert library.define("foo.ov(int n) -> Tensor") == f"{ns}::foo.ov"
    assert library.define(f"{ns}::bar(Tensor x) -> Tensor") == f"{ns}::bar"


def test_F1_an_overload_that_is_added_shows_in_the_packet(library, ns):
    library.define("foo(Tensor x) -> Tensor")
    packet = getattr(opyard.ops, ns).foo
    assert packet.overloads() == ["default"]
    library.define("foo.ov(int n) -> Tensor")
    assert packet.overloads() == ["default", "ov"]


def test_F1_tags_are_one_or_several(library, ns):
    library.define("a() -> ()", tags="core")
    library.define("b() -> ()", tags=["core", "pointwise"])
    namespace = getattr(opyard.ops, ns)
    assert (namespace.a.default.tags, namespace.b.default.tags) == (["core"], ["core", "pointwise"])


def test_F1_alias_analysis(library, ns):
    library.define("a() -> ()", "CONSERVATIVE")
    library.define("b() -> ()", "FROM_SCHEMA")
    library.define("c() -> ()")
    kinds = [re.search("alias analysis kind: (.*)", dump(f"{ns}::{n}"))[1] for n in "abc"]
    assert kinds == ["CONSERVATIVE", "FROM_SCHEMA", "FROM_SCHEMA"]
    assert message_of(RuntimeError, library.define, "d() -> ()", "PURE_FUNCTION") == (
        "Invalid alias_analysis type PURE_FUNCTION; accepted are FROM_SCHEMA, which is meant "
        "without one, and CONSERVATIVE"
    )


def test_B1_unknown_kind(ns):
    assert message_of(ValueError, Library, ns, "NONE") == (
        "Unsupported kind: NONE; a library is DEF, FRAGMENT or IMPL"
    )


def test_B2_a_second_definer_of_a_namespace(ns):
    first = Library(ns, "DEF")
    place = here(-1)
    text = message_of(RuntimeError, Library, ns, "DEF")
    assert text.startswith(f'Only one library of kind "DEF" can define the namespace {ns}; ')
    assert f"Previous registration was registered at {place};" in text
    first._destroy()
    Library(ns, "DEF")._destroy()


def test_B3_reserved_namespace(ns):
    for kind in ("DEF", "FRAGMENT"):
        assert "prim is a reserved namespace" in message_of(ValueError, Library, "prim", kind)
    Library("prim", "IMPL")
    Library("aten", "IMPL", "CPU")


@pytest.mark.parametrize("kind", ["DEF", "FRAGMENT", "IMPL"])
@pytest.mark.parametrize(
    ("ns", "named"),
    [
        ("a b", "a b"),
        ("a::b", "a::b"),
        ("1x", "1x"),
        ("", ""),
        ("a.b", "a.b"),
        ("a\n", "a\\x0a"),
        ("a\0b", "a\\x00b"),
    ],
)
def test_a_namespace_is_an_identifier(ns, named, kind):
    assert message_of(RuntimeError, Library, ns, kind) == (
        f'"{named}" is no namespace for a library: it takes letters, digits and underscores, and '
        "begins with no digit"
    )


@pytest.mark.parametrize("ns", [None, 3, b"demo", ["demo"]], ids=repr)
def test_a_namespace_is_a_text(ns):
    kind = type(ns).__name__
    assert message_of(TypeError, Library, ns, "DEF") == (
        f"the namespace of a library must be a str, not {kind}"
    )


def test_a_kind_is_a_text(ns):
    assert message_of(TypeError, Library, ns, None) == (
        "the kind of a library must be a str, not NoneType"
    )


def test_B4_the_namespace_of_all_operators_only_takes_fallbacks():
    for kind in ("DEF", "FRAGMENT"):
        assert "can only hold fallbacks" in message_of(RuntimeError, Library, "_", kind)


def test_B5_a_key_with_a_library_that_defines(ns):
    assert "takes no dispatch key, but got CPU" in message_of(
        RuntimeError, Library, ns, "FRAGMENT", "CPU"
    )


def test_B6_no_definition_in_a_library_of_kernels(ns):
    library = Library(ns, "IMPL")
    assert message_of(RuntimeError, library.define, "foo() -> ()") == (
        f'def("foo() -> ()"): Cannot define an operator inside of Library("{ns}", "IMPL"), which '
        f'registers kernels only; define it in Library("{ns}", "FRAGMENT")'
    )


def test_B7_another_namespace_than_the_library_s(library):
    for text in (
        message_of(RuntimeError, library.define, "other::foo() -> ()"),
        message_of(RuntimeError, library.impl, "other::foo", print, "CPU"),
    ):
        assert "(other) in operator name does not match namespace of enclosing Library(" in text


def test_B8_another_key_than_the_library_s(library, ns):
    text = message_of(RuntimeError, Library(ns, "IMPL", "CPU").impl, "foo", print, "CUDA")
    assert text == (
        'impl("foo"): Explicitly provided dispatch key (CUDA) is inconsistent with the dispatch '
        f'key of the enclosing Library("{ns}", "IMPL", "CPU"); leave the key out here, or there'
    )


def test_a_key_that_does_not_exist(ns):
    assert "CPPU" in message_of(LookupError, Library, ns, "IMPL", "CPPU")
    assert "CPPU" in message_of(LookupError, Library(ns, "IMPL").impl, "foo", print, "CPPU")
    for number in (5000, -1, 2**70):
        text = f"no dispatch key has the number {number}"
        assert message_of(LookupError, Library, ns, "IMPL", number) == text
        assert message_of(LookupError, Library(ns, "IMPL").impl, "foo", print, number) == text


def test_a_schema_that_does_not_parse_changes_nothing(library, ns):
    text = message_of(ValueError, library.define, "foo(Tensor x")
    assert text.splitlines()[0].startswith("1:13: expected ")
    assert text.splitlines()[1:] == ["foo(Tensor x", "            ^"]
    assert f"{ns}::foo" not in opyard.dispatch.operator_names()
    assert not hasattr(getattr(opyard.ops, ns), "foo")


def test_B13_a_second_definition_of_one_operator(library, ns):
    library.define("foo(Tensor x) -> Tensor")
    place = here(-1)
    text = message_of(RuntimeError, library.define, "foo(Tensor x) -> int")
    assert text.startswith(f"Tried to register an operator ({ns}::foo(Tensor x) -> int) with the")
    assert text.endswith(f"Original registration: registered at {place}")
    text = message_of(RuntimeError, library.define, "foo(Tensor x) -> Tensor", "CONSERVATIVE")
    assert text.startswith(f"Tried to register an operator ({ns}::foo(Tensor x) -> Tensor) with")


# F2 ---------------------------------------------------------------------------------------


def test_F2_a_kernel_is_a_callable(library):
    assert message_of(TypeError, library.impl, "foo", [], "CPU") == (
        "Input function is required to be a callable but found type <class 'list'>"
    )


def test_F2_an_operator_is_a_name_or_an_overload(library, foo):
    for op in (foo, 3, None):
        assert message_of(RuntimeError, library.impl, op, print, "CPU") == (
            "impl should be passed either a name or an OpOverload object as the first argument"
        )


def test_F2_an_overload_object_names_the_operator(library, ns, x):
    library.define("foo.ov(Tensor x) -> str")
    op = getattr(opyard.ops, ns).foo.ov
    library.impl(op, lambda x: "by object", "CPU")
    assert op(x) == "by object"


def test_F2_without_any_key_the_kernel_is_the_composite_implicit_one(library, ns, x):
    library.define("foo(Tensor x) -> str")
    library.impl("foo", lambda x: "composite")
    op = getattr(opyard.ops, ns).foo
    assert op(x) == "composite"
    assert op.default.has_kernel_for_dispatch_key("CompositeImplicitAutograd")
    assert "CompositeImplicitAutograd[alias]: " in dump(op)


def test_F2_the_key_of_the_library_is_the_default(foo, ns, x):
    library = Library(ns, "IMPL", "Meta")
    library.impl("foo", lambda x: "meta")
    assert foo.default.has_kernel_for_dispatch_key("Meta")
    assert foo(x) == "first"


def test_F2_a_second_python_kernel_of_another_library_goes_on_top(library, ns, x):
    library.define("foo(Tensor x) -> str")
    library.impl("foo", lambda x: "first", "CPU")
    first_place = here(-1)
    foo = getattr(opyard.ops, ns).foo
    second = Library(ns, "IMPL")
    with pytest.warns(UserWarning) as caught:
        second.impl("foo", lambda x: "second", "CPU")
    second_place = here(-1)
    assert [str(warning.message) for warning in caught] == [
        f"{OVERRIDING}\n"
        f"  operator: {foo.default.declaration}\n"
        "  dispatch key: CPU\n"
        f"  previous kernel: registered at {first_place}\n"
        f"  new kernel: registered at {second_place}"
    ]
    assert f"{caught[0].filename}:{caught[0].lineno}" == second_place
    assert foo(x) == "second"
    third = Library(ns, "IMPL", "CPU")
    with pytest.warns(UserWarning, match=f"previous kernel: registered at {second_place}"):
        third.impl("foo", lambda x: "third")
    assert foo(x) == "third"
    assert dump(foo).count("CPU: ") == 1 and dump(foo).count("CPU (inactive): ") == 2
    second._destroy()
    assert foo(x) == "third"
    third._destroy()
    assert foo(x) == "first"


def test_F2_an_exclusive_kernel_covers_none_of_another_library(library, ns, x):
    library.define("foo(Tensor x) -> str")
    library.impl("foo", lambda x: "first", "CPU")
    place = here(-1)
    foo = getattr(opyard.ops, ns).foo
    second = Library(ns, "IMPL")
    text = message_of(RuntimeError, second.impl, "foo", lambda x: "second", "CPU", exclusive=True)
    assert text == (
        f"{ns}::foo has a kernel at CPU of another library, registered at {place}, and "
        "an exclusive kernel covers none; take that one back, or go on top of it by an override"
    )
    assert foo(x) == "first" and second.kernels == []
    library.impl("foo", lambda x: "again", "CPU", exclusive=True)  # its own
    second.impl("foo", lambda x: "second", "AutogradCPU", exclusive=True)
    assert foo(x) == "second"
    text = message_of(
        TypeError, second.impl, "foo", print, "CPU", exclusive=True, allow_override=True
    )
    assert text == "impl: exclusive=True and allow_override=True exclude each other"


def test_of_threads_that_register_exclusively_one_succeeds(library, ns):
    library.define("foo(Tensor x) -> str")
    start = threading.Barrier(4)

    def register(lib):
        start.wait()
        try:
            lib.impl("foo", lambda x: "mine", "CPU", exclusive=True)
        except RuntimeError as error:
            assert "an exclusive kernel covers none" in str(error)

    for _ in range(volume(50)):
        libraries = [Library(ns, "IMPL") for _ in range(4)]
        threads = [threading.Thread(target=register, args=(lib,)) for lib in libraries]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert sorted(len(lib.kernels) for lib in libraries) == [0, 0, 0, 1]
        for lib in libraries:
            lib.close()


@pytest.mark.parametrize("how", ["name", "full name", "overload"])
def test_F2_each_way_to_name_an_operator_warns(foo, ns, x, how):
    op = {"name": "foo", "full name": f"{ns}::foo", "overload": foo.default}[how]
    second = Library(ns, "IMPL")
    with pytest.warns(UserWarning, match=OVERRIDING):
        second.impl(op, lambda x: "second", DispatchKey.CPU)
    second.impl("foo", lambda x: "meta", "Meta")  # nothing is there yet
    assert foo(x) == "second"


def test_F2_with_allow_override_there_is_no_warning(foo, ns, x):
    second = Library(ns, "IMPL")
    second.impl("foo", lambda x: "second", "CPU", allow_override=True)
    assert foo(x) == "second"
    third = Library(ns, "IMPL", "CPU")
    third.impl("foo", lambda x: "third", allow_override=True)
    assert foo(x) == "third"
    with pytest.warns(UserWarning, match=OVERRIDING):
        Library(ns, "IMPL", "CPU").impl("foo", lambda x: "fourth")
    second._destroy()
    third._destroy()
    assert foo(x) == "first"


def test_the_same_library_registering_twice_replaces(foo, library, ns, x):
    library.impl("foo", lambda x: "again", "CPU")
    assert foo(x) == "again"
    assert dump(foo).count("CPU: ") == 1
    assert "(inactive)" not in dump(foo)


# F3 ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["destroy", "drop"])
def test_F3_the_place_is_free_again_when_the_library_ends(library, ns, x, end):
    library.define("foo(Tensor x) -> int")
    op = getattr(opyard.ops, ns).foo
    for n in range(3):
        kernels = Library(ns, "IMPL")
        kernels.impl("foo", lambda x, n=n: n, "CPU")
        assert op(x) == n
        if end == "destroy":
            kernels._destroy()
        del kernels
        gc.collect()
        assert not op.default.has_kernel_for_dispatch_key("CPU")


def test_F3_what_was_covered_comes_back(plugin, x):
    assert plugin.same(x) is x
    with pytest.warns(UserWarning) as caught:
        kernels = Library("test_plugin", "IMPL", "CPU")
        kernels.impl("same", lambda x: x + 1)
    place = here(-1)
    assert plugin.same(x) is not x
    assert f"{caught[0].filename}:{caught[0].lineno}" == place
    lines = str(caught[0].message).splitlines()
    assert lines[:3] == [
        OVERRIDING,
        f"  operator: {plugin.same.default.declaration}",
        "  dispatch key: CPU",
    ]
    # B23: the kernel that is really being replaced.
    assert re.match(r"  previous kernel: registered at \S*plugin\.cpp:\d+$", lines[3])
    assert lines[4] == f"  new kernel: registered at {place}"
    kernels._destroy()
    assert plugin.same(x) is x


def test_a_warning_that_is_an_error_leaves_nothing_behind(plugin, x):
    before = dump("test_plugin::unchanged")
    kernels = Library("test_plugin", "IMPL", "CPU")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match=OVERRIDING):
            kernels.impl("unchanged", lambda x: x + 1)
    assert plugin.unchanged(x) is x
    assert dump("test_plugin::unchanged") == before
    # The place is not taken, and no one counts as warned.
    other = Library("test_plugin", "IMPL", "CPU")
    with pytest.warns(UserWarning, match=OVERRIDING):
        other.impl("unchanged", lambda x: x + 1)
    assert plugin.unchanged(x) is not x
    other._destroy()
    # V5: an operator and key are warned of once.
    Library("test_plugin", "IMPL", "CPU").impl("unchanged", lambda x: x + 1)


def test_F3_a_library_of_another_namespace_cannot_take_the_place(library, ns):
    """Only libraries of the operator's own namespace reach it."""
    other = Library(f"{ns}x", "FRAGMENT")
    other.define("foo() -> int")
    other.impl("foo", lambda: 1)
    library.define("foo() -> int")
    library.impl("foo", lambda: 2)
    text = message_of(RuntimeError, library.impl, f"{ns}x::foo", lambda: 3)
    assert f"namespace ({ns}x) in operator name does not match namespace" in text


def test_removal_in_any_order(library, ns, x):
    library.define("foo(Tensor x) -> int")
    op = getattr(opyard.ops, ns).foo
    for order in [(0, 1, 2), (2, 1, 0), (1, 0, 2), (1, 2, 0)]:
        stack = []
        for n in range(3):
            stack.append(Library(ns, "IMPL", "CPU"))
            stack[-1].impl("foo", lambda x, n=n: n, allow_override=True)
        live = {0, 1, 2}
        for n in order:
            stack[n]._destroy()
            live.discard(n)
            if live:
                assert op(x) == max(live)
        with pytest.raises(NotImplementedError):
            op(x)


def test_a_library_that_ended_registers_nothing_more(ns):
    library = Library(ns, "FRAGMENT")
    library._destroy()
    library._destroy()
    text = "this library has ended already"
    assert message_of(RuntimeError, library.define, "foo() -> ()") == text
    assert message_of(RuntimeError, library.impl, "foo", print) == text


def test_kernels_may_come_before_the_definition(ns, x):
    kernels = Library(ns, "IMPL", "CPU")
    kernels.impl("foo", lambda x: "early")
    assert dump(f"{ns}::foo").splitlines()[:2] == [f"name: {ns}::foo", "schema: (none)"]
    definitions = Library(ns, "DEF")
    definitions.define("foo(Tensor x) -> str")
    assert getattr(opyard.ops, ns).foo(x) == "early"


def test_V2_provenance_is_the_file_and_line_of_the_caller(library, ns):
    library.define("foo(Tensor x) -> str")
    defined = here(-1)
    library.impl("foo", lambda x: "", "CPU")
    implemented = here(-1)
    assert dump(f"{ns}::foo") == (
        f"name: {ns}::foo\n"
        f"schema: {ns}::foo(Tensor x) -> str\n"
        f"debug: registered at {defined}\n"
        "alias analysis kind: FROM_SCHEMA\n"
        f"CPU: registered at {implemented} :: (none) [ boxed ]\n"
    )


def test_kernels_of_aten_stay_on_top_of_the_operators_that_load_later(run_program):
    done = run_program(
        """
        import warnings
        import opyard

        warnings.simplefilter("ignore")
        library = opyard.library.Library("aten", "IMPL", "CPU")
        library.impl("neg", lambda x: "mine")
        print(opyard.dispatch.explain("aten::neg", opyard.tensor([1.0])).kernel)
        """
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.strip().endswith("program.py:7")


def test_F4_a_meta_kernel_of_an_implicit_composite_is_refused(ns, library, define):
    op = define("made(Tensor x) -> Tensor", CompositeImplicitAutograd=lambda x: x)
    before = opyard.dispatch.dump(op.qualified_name)
    for name in ("made", f"{ns}::made", op.default):
        text = message_of(RuntimeError, library.impl, name, lambda x: x, "Meta")
        assert text == (
            f"We should not register a meta kernel directly to the operator '{ns}::made', because "
            "it has a CompositeImplicitAutograd kernel. That one serves Meta as well, since it is "
            "made of other operators: register meta kernels for those, or this one with "
            "allow_override=True"
        )
    meta = Library(ns, "IMPL", "Meta")
    assert "We should not register" in message_of(RuntimeError, meta.impl, "made", lambda x: x)
    assert opyard.dispatch.dump(op.qualified_name) == before
    meta.impl("made", lambda x: x, allow_override=True)
    meta._destroy()
