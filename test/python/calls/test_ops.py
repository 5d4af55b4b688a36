"""test_ops.py: operators by name: namespaces, packets, overloads.

Suspect _core/ops.py, packet.cpp.
"""

import copy
import gc
import inspect
import pickle
import weakref

import pytest

import opyard
from opyard.dispatch import DispatchKey, DispatchKeySet


@pytest.fixture
def packet(library):
    """An operator with three overloads: the unnamed one, `ov` and `n`."""
    library.define("foo(Tensor x) -> Tensor")
    library.define("foo.ov(Tensor x, Tensor y) -> Tensor", tags=("pointwise", "core"))
    library.define("foo.n(int n) -> int")
    library.impl("foo", lambda x: x, "CPU")
    library.impl("foo.ov", lambda x, y: y, "CPU")
    library.impl("foo.n", lambda n: n + 1)
    return getattr(opyard.ops, library.ns).foo


# F33 --------------------------------------------------------------------------------------


def test_F33_every_namespace_exists(ns):
    assert repr(getattr(opyard.ops, ns)) == f"<opyard.ops.{ns}>"


def test_F33_a_missing_operator_is_named(library, ns):
    with pytest.raises(AttributeError) as caught:  # of a namespace that is near none of the tests'
        opyard.ops.absent.nope  # noqa: B018
    assert str(caught.value) == (
        "'_OpNamespace' 'absent' object has no attribute 'nope': no library defines operators "
        "of absent; load one with opyard.load_library(path), or import the package that has it"
    )
    text = f"'_OpNamespace' '{ns}' object has no attribute 'nope'"
    library.define("there() -> ()")
    with pytest.raises(AttributeError) as caught:
        getattr(opyard.ops, ns).nope  # noqa: B018
    assert str(caught.value) == f"{text}; is its library loaded?"
    with pytest.raises(AttributeError) as caught:
        getattr(opyard.ops, ns).tere  # noqa: B018
    assert str(caught.value).endswith("has no attribute 'tere'; 'there' may be meant")


def test_B20_kernels_without_a_definition_are_told_from_a_name_that_is_not_there(ns, x):
    lib = opyard.library.Library(ns, "IMPL")
    lib.impl("alone", lambda x: x, "CPU")
    lib.impl("alone.over", lambda x: x, "Meta")
    text = (
        f": kernels are registered for {ns}::alone, {ns}::alone.over, but no definition; is a "
        "define() missing, or the library that has it?"
    )
    with pytest.raises(AttributeError) as caught:
        getattr(opyard.ops, ns).alone  # noqa: B018
    assert str(caught.value) == f"'_OpNamespace' '{ns}' object has no attribute 'alone'{text}"
    with pytest.raises(LookupError) as caught:
        opyard.library.override(f"{ns}::alone", "CPU", lambda x: x)
    assert str(caught.value).endswith(text)
    assert opyard.ops.aten.add  # the first look loads them
    at = opyard.dispatch.operators_at
    assert f"{ns}::alone" in at("CPU")
    assert f"{ns}::alone" not in at("Meta")
    assert f"{ns}::alone.over" in at("Meta")
    assert {f"{ns}::alone", f"{ns}::alone.over", "aten::add.Tensor"} <= {*at()}
    lib._undo()
    assert f"{ns}::alone" not in at()
    with pytest.raises(AttributeError, match="has no attribute 'alone': no library defines"):
        getattr(opyard.ops, ns).alone  # noqa: B018


def test_B20_a_missing_overload_that_has_kernels_is_named_with_them(ns, packet):
    lib = opyard.library.Library(ns, "IMPL")
    lib.impl("foo.alone", lambda x: x, "CPU")
    head = f"The underlying op of '{packet}' has no overload name 'alone'"
    with pytest.raises(AttributeError) as caught:
        packet.alone  # noqa: B018
    assert str(caught.value) == (
        f"{head}: kernels are registered for {ns}::foo.alone, but no definition; is a define() "
        "missing, or the library that has it?"
    )
    lib._undo()
    with pytest.raises(AttributeError) as caught:
        packet.alone  # noqa: B018
    assert str(caught.value) == head
    with pytest.raises(AttributeError, match="has no overload name"):
        getattr(packet, "\ud800")


def test_B20_all_defined_operators_are_listed(ns, packet):
    lib = opyard.library.Library(ns, "IMPL")
    lib.impl("alone", lambda x: x, "CPU")
    names = opyard.dispatch.operator_names()
    assert [name for name in names if name.startswith(f"{ns}::")] == [
        f"{ns}::foo",
        f"{ns}::foo.n",
        f"{ns}::foo.ov",
    ]
    assert names == sorted(names)
    lib._undo()


def test_F33_a_missing_overload_is_named(packet):
    with pytest.raises(AttributeError) as caught:
        packet.nope  # noqa: B018
    assert str(caught.value) == f"The underlying op of '{packet}' has no overload name 'nope'"


def test_F33_dunder_names_never_reach_the_registry(ns, monkeypatch):
    asked = []
    monkeypatch.setattr(opyard._core.ops, "find_packet", lambda name: asked.append(name))
    namespace = getattr(opyard.ops, ns)
    for name in ("__file__", "__wrapped__", "__path__", "__array_interface__"):
        assert not hasattr(namespace, name)
        assert not hasattr(opyard.ops, name)
    assert asked == []
    assert not hasattr(namespace, "other")
    assert asked == [f"{ns}::other"]


def test_F33_dunder_names_are_not_listed(library, ns):
    library.define("__add__(Tensor x) -> Tensor")
    namespace = getattr(opyard.ops, ns)
    assert "__add__" not in dir(namespace)
    assert [hasattr(namespace, name) for name in dir(namespace)] == [True] * len(dir(namespace))


def test_F33_overloads_that_are_called_as_attributes_of_packets(library, ns, x):
    for name, kind in {"overloads": "Tensor", "_resolve": "str", "qualified_name": "int"}.items():
        library.define(f"f.{name}({kind} x) -> Tensor")
        library.define(f"only_{name}.{name}(Tensor x) -> Tensor")
        library.impl(f"only_{name}.{name}", lambda x: x, "CPU")
        packet = getattr(getattr(opyard.ops, ns), f"only_{name}")
        assert opyard._core.ops.operator_of(packet).name() == f"{ns}::only_{name}.{name}"
        assert opyard._core.ops.overload_of(f"{ns}::only_{name}.{name}") is getattr(packet, name)
        assert inspect.signature(packet) == inspect.signature(getattr(packet, name))
        assert opyard.dispatch.dump(packet)
        assert packet.__doc__ and packet(x) is x
        with pytest.raises(opyard.library.OpCheckError, match="not defined to alias output"):
            opyard.library.opcheck(packet, (x,), test_utils="test_schema")
    f = getattr(opyard.ops, ns).f
    assert [op.count("f.") for op in f.__doc__.split("\n\n")] == [1, 1, 1]
    with pytest.raises(TypeError, match="has several overloads"):
        opyard._core.ops.operator_of(f)


def test_F33_dunder_names_of_packets_are_no_overloads(packet):
    assert not hasattr(packet, "__wrapped__")
    assert packet.__class__.__name__ == "OpOverloadPacket"


def test_F33_objects_are_kept(packet, ns):
    namespace = getattr(opyard.ops, ns)
    assert namespace is getattr(opyard.ops, ns)
    assert packet is namespace.foo
    assert packet.ov is namespace.foo.ov
    assert packet.default is namespace.foo.default
    assert packet.default is not packet.ov


def test_F33_objects_stay_the_same_when_the_registry_changes(packet, library):
    default = packet.default
    library.define("foo.more(str s) -> str")
    library.define("bar() -> ()")
    assert packet.default is default
    assert packet.overloads() == ["default", "ov", "n", "more"]


def test_F33_dir_lists_operators_and_namespaces(packet, ns):
    assert dir(getattr(opyard.ops, ns)) == ["foo"]
    assert {ns, "aten", "load_library"} <= {*dir(opyard.ops)}


def test_operators_that_were_taken_back_are_no_attributes(ns):
    library = opyard.library.Library(ns, "FRAGMENT")
    library.define("foo(Tensor x) -> Tensor")
    namespace = getattr(opyard.ops, ns)
    packet = namespace.foo
    library._destroy()
    assert not hasattr(namespace, "foo")
    assert dir(namespace) == []

    again = opyard.library.Library(ns, "FRAGMENT")
    again.define("foo(int n) -> int")
    again.impl("foo", lambda n: n * 2)
    assert namespace.foo is packet
    assert packet(21) == 42


def test_attributes_of_a_namespace_can_be_replaced_and_taken_away(packet, ns):
    namespace = getattr(opyard.ops, ns)
    for value in (1, 2):
        namespace.foo = value
        assert [namespace.foo for _ in range(3)] == [value] * 3
    del namespace.foo
    assert namespace.foo is packet
    namespace.other = "mine"
    assert namespace.other == "mine"
    del namespace.other
    assert not hasattr(namespace, "other")


def test_what_a_namespace_keeps_can_be_looked_at_only(packet, ns):
    namespace = getattr(opyard.ops, ns)
    kept = vars(namespace)
    assert kept["foo"] is packet
    kept["foo"] = None  # a copy: jedi and inspect read no other mapping than a dict
    with pytest.raises(AttributeError):
        namespace.__dict__ = {}
    assert namespace.foo is packet


class Name(str):
    """Equal to a text, and runs `then` whenever it is compared."""

    __hash__ = str.__hash__

    def __eq__(self, other):
        self.then()
        return str.__eq__(self, other)


def test_names_that_run_code_while_they_are_compared(packet, library, ns):
    namespace = getattr(opyard.ops, ns)
    name = Name("mine")
    name.then = lambda: getattr(namespace, "mine", None)
    for _ in range(3):
        namespace.mine = object()
        assert getattr(namespace, name) is namespace.mine
        delattr(namespace, name)
        assert not hasattr(namespace, "mine")
    name = Name("default")
    numbers = iter(range(100))

    def define():
        library.define(f"other{next(numbers)}() -> ()")
        packet.overloads()

    name.then = define
    assert all(getattr(packet, name) is packet.default for _ in range(10))


def test_a_name_that_leads_to_its_namespace_is_collected():
    space = type(opyard.ops)()
    name = Name("mine")
    name.then = lambda: None
    name.space = space
    space.mine = 1
    assert getattr(space, name) == 1
    gone = weakref.ref(space)
    del space, name
    gc.collect()
    assert gone() is None


def test_what_a_namespace_keeps_is_collected_with_it():
    space = type(opyard.ops)()
    space.mine = [space]
    assert space.mine is space.mine
    gone = weakref.ref(space)
    del space
    gc.collect()
    assert gone() is None


def test_each_of_many_names_leads_to_its_own_operator(ns):
    library = opyard.library.Library(ns, "FRAGMENT")
    names = [f"op_{i}" for i in range(300)]
    for name in names:
        library.define(f"{name}() -> ()")
    namespace = getattr(opyard.ops, ns)
    for _ in range(3):
        found = [getattr(namespace, name) for name in names]
        assert [str(packet) for packet in found] == [f"{ns}.{name}" for name in names]
        # Names that are other objects: made for this one look.
        assert all(
            getattr(namespace, "".join(name)) is at for name, at in zip(names, found, strict=True)
        )
    library._destroy()
    assert not any(hasattr(namespace, name) for name in names)


def test_an_overload_is_found_anew_after_each_change_of_the_registry(ns):
    library = opyard.library.Library(ns, "FRAGMENT")
    library.define("foo() -> int")
    packet = getattr(opyard.ops, ns).foo
    for i in range(20):
        default = packet.default
        assert packet.default is default
        own = opyard.library.Library(ns, "FRAGMENT")
        own.define(f"foo.more{i}(int n) -> int")
        assert getattr(packet, f"more{i}") is getattr(packet, f"more{i}")
        assert packet.default is default
        own._destroy()
        assert not hasattr(packet, f"more{i}")
    library._destroy()
    assert not hasattr(packet, "default")


def test_a_packet_whose_operators_are_gone_says_so(ns, x):
    library = opyard.library.Library(ns, "FRAGMENT")
    library.define("foo(Tensor x) -> Tensor")
    library.impl("foo", lambda x: x, "CPU")
    packet = getattr(opyard.ops, ns).foo
    overload = packet.default
    assert overload(x) is x
    library._destroy()
    with pytest.raises(RuntimeError, match=rf"{ns}::foo is gone: the library that defined it"):
        packet(x)
    with pytest.raises(RuntimeError, match=rf"{ns}::foo"):
        overload(x)


def test_an_operator_that_is_defined_again_is_alive_again(ns, x):
    for answer in (1, 2):
        library = opyard.library.Library(ns, "FRAGMENT")
        library.define("foo(Tensor x) -> int")
        library.impl("foo", lambda x, answer=answer: answer, "CPU")
        if answer == 1:
            overload = getattr(opyard.ops, ns).foo.default
        assert overload(x) == answer
        library._destroy()


def gone(declaration):
    return (
        f"{declaration} is gone: the library that defined it has ended. Load the library "
        "again, or look the operator up anew."
    )


@pytest.fixture
def handle(ns):
    """An operator whose definition was unregistered: ns::foo(Tensor x) -> int."""
    library = opyard.library.Library(ns, "FRAGMENT")
    library.define("foo(Tensor x) -> int")
    library.impl("foo", lambda x: 1, "CPU")
    handle = getattr(opyard.ops, ns).foo.default
    library._destroy()
    return handle


@pytest.mark.parametrize("looked_at", [False, True], ids=["unseen", "seen"])
def test_F33_the_same_definition_has_the_same_object(handle, library, ns, looked_at, x):
    """Also if the packet was asked in between, when it had no overloads."""
    packet = handle.overloadpacket
    if looked_at:
        assert packet.overloads() == []
        with pytest.raises(AttributeError, match="has no overload name 'default'"):
            packet.default  # noqa: B018
    library.define("foo(Tensor x) -> int")
    library.impl("foo", lambda x: 2, "CPU")
    assert getattr(opyard.ops, ns).foo.default is handle
    assert (handle(x), packet(x)) == (2, 2)


@pytest.mark.parametrize("looked_at", [False, True], ids=["unseen", "seen"])
def test_F33_another_schema_is_another_operator(handle, library, ns, looked_at, x):
    packet = handle.overloadpacket
    if looked_at:
        assert packet.overloads() == []
    library.define("foo(int n) -> int")
    library.impl("foo", lambda n: n * 2)
    fresh = getattr(opyard.ops, ns).foo.default
    assert fresh is not handle
    assert packet.default is fresh
    assert (fresh(21), packet(21)) == (42, 42)
    # Whatever it is called with: those for the new schema would seem wrong otherwise.
    for arguments in [(x,), (21,), ()]:
        with pytest.raises(RuntimeError) as caught:
            handle(*arguments)
        assert str(caught.value) == gone(f"{ns}::foo(Tensor x) -> int")
    with pytest.raises(RuntimeError) as caught:
        handle.redispatch(DispatchKeySet("CPU"), 21)
    assert str(caught.value) == gone(f"{ns}::foo(Tensor x) -> int")
    # And back: each schema has its own object for good.
    library._destroy()
    again = opyard.library.Library(ns, "FRAGMENT")
    again.define("foo(Tensor x) -> int")
    again.impl("foo", lambda x: 3, "CPU")
    assert packet.default is handle
    assert handle(x) == 3
    with pytest.raises(RuntimeError) as caught:
        fresh(21)
    assert str(caught.value) == gone(f"{ns}::foo(int n) -> int")
    again._destroy()


# F34 --------------------------------------------------------------------------------------


def test_F34_texts(packet, ns):
    assert str(packet) == f"{ns}.foo"
    assert repr(packet) == f"<OpOverloadPacket(op='{ns}.foo')>"
    assert str(packet.default) == f"{ns}.foo.default"
    assert repr(packet.default) == f"<OpOverload(op='{ns}.foo', overload='default')>"
    assert str(packet.ov) == f"{ns}.foo.ov"
    assert repr(packet.ov) == f"<OpOverload(op='{ns}.foo', overload='ov')>"


def test_F34_names(packet, ns):
    assert packet.qualified_name == f"{ns}::foo"
    assert packet.overloads() == ["default", "ov", "n"]
    assert packet.default.name() == f"{ns}::foo"
    assert packet.ov.name() == f"{ns}::foo.ov"
    assert (packet.ov.namespace, packet.ov.overload_name) == (ns, "ov")
    assert packet.default.overload_name == "default"


def test_F34_the_way_back_to_the_packet(packet):
    assert packet.ov.overloadpacket is packet


def test_F34_schema_tags_and_views(packet, library, ns):
    assert packet.ov.declaration == f"{ns}::foo.ov(Tensor x, Tensor y) -> Tensor"
    assert str(packet.ov._schema) == packet.ov.declaration
    assert packet.ov._schema.overload_name == "ov"
    assert packet.ov.tags == ["pointwise", "core"]
    assert packet.default.tags == []
    assert not packet.ov.is_view
    library.define("view(Tensor(a) x) -> Tensor(a)")
    assert getattr(opyard.ops, ns).view.default.is_view


def test_F34_copies_are_the_same_object(packet):
    for op in (packet, packet.default, packet.ov):
        assert copy.copy(op) is op
        assert copy.deepcopy(op) is op
        assert copy.deepcopy([op])[0] is op


@pytest.mark.parametrize("protocol", range(pickle.HIGHEST_PROTOCOL + 1))
def test_F34_pickles_by_name(packet, protocol):
    for op in (packet, packet.default, packet.ov):
        assert pickle.loads(pickle.dumps(op, protocol)) is op


def test_F34_unpickling_an_operator_that_is_gone_says_so(ns):
    library = opyard.library.Library(ns, "FRAGMENT")
    library.define("foo.ov(Tensor x) -> Tensor")
    text = pickle.dumps(getattr(opyard.ops, ns).foo.ov)
    library._destroy()
    with pytest.raises(LookupError, match=rf"^'?operator {ns}::foo does not exist"):
        pickle.loads(text)


def test_F34_operators_are_hashed_by_identity(packet):
    ops = {packet: 1, packet.default: 2, packet.ov: 3}
    assert ops[packet.overloadpacket if hasattr(packet, "overloadpacket") else packet] == 1
    assert ops[packet.ov] == 3
    assert packet.default != packet.ov
    assert packet.default == packet.default


# Calling ----------------------------------------------------------------------------------


def test_overloads_are_called(packet, x):
    y = opyard.tensor([4.0])
    assert packet.default(x) is x
    assert packet.ov(x, y=y) is y
    assert packet.n(n=4) == 5


def test_a_packet_calls_the_overload_that_fits(packet, x):
    assert packet(x) is x
    assert packet(x, x) is x
    assert packet(1) == 2


def test_redispatch_takes_a_key_set_and_looks_at_nothing_else(packet, library, x):
    library.impl("foo", lambda x: x + 1, "AutogradCPU")
    keys = DispatchKeySet(DispatchKey.CPU)
    assert packet.default.redispatch(keys, x) is x
    assert packet.default.redispatch(DispatchKeySet(DispatchKey.AutogradCPU), x) is not x
    with pytest.raises(TypeError, match=r"^redispatch\(\) takes a DispatchKeySet first$"):
        packet.default.redispatch(x)
    with pytest.raises(NotImplementedError):
        packet.default.redispatch(DispatchKeySet(DispatchKey.CUDA), x)


def test_has_kernel_for_dispatch_key(packet):
    assert packet.default.has_kernel_for_dispatch_key("CPU")
    assert packet.default.has_kernel_for_dispatch_key(DispatchKey.CPU)
    assert not packet.default.has_kernel_for_dispatch_key("CUDA")
    # It has one at the alias, but none at exactly this key.
    assert packet.n.has_kernel_for_dispatch_key("CompositeImplicitAutograd")
    assert not packet.n.has_kernel_for_dispatch_key("CPU")
    with pytest.raises(LookupError, match="CPPU"):
        packet.default.has_kernel_for_dispatch_key("CPPU")


def test_operators_of_aten_are_loaded_when_first_used(run_program):
    done = run_program(
        """
        import opyard

        def is_loaded():
            with open("/proc/self/maps") as maps:
                return "opyard_kernels" in maps.read()

        assert not is_loaded()
        aten = opyard.ops.aten
        assert not is_loaded()
        assert aten.add is opyard.ops.aten.add
        assert is_loaded()
        assert "add" in dir(aten)
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_overload_objects_are_weakly_referable(packet):
    import weakref

    assert weakref.ref(packet.ov)() is packet.ov
    assert weakref.ref(packet)() is packet


def test_operators_cannot_be_made_by_hand():
    for kind in (opyard._C.OpOverload, opyard._C.OpOverloadPacket):
        with pytest.raises(TypeError, match="cannot create"):
            kind()
