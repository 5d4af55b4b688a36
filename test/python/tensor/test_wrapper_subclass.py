"""Protects tensors without elements whose class defines sizes, strides, device and layout.

Suspect objects/convert/tensor_wrapper.cpp, vtable/metadata.cpp,
dispatcher/src/tensor/tensor_impl.cpp.
"""

import gc

import pytest
from built import plugin_path

import opyard
from opyard import Tensor
from opyard.dispatch import (
    DispatchKeySet,
    DispatchMode,
    ExcludeDispatchKeyGuard,
    IncludeDispatchKeyGuard,
)
from opyard.dispatch import tls_is_dispatch_key_excluded as excluded
from opyard.dispatch import tls_is_dispatch_key_included as included

pytestmark = pytest.mark.memory


@pytest.fixture(scope="module")
def slots():
    opyard.load_library(plugin_path("opyard_vtable_plugin"))
    return opyard.ops.test_vtable


class Answering(Tensor):
    """Answers questions by the name of the operator; None for what it has no answer to."""

    @staticmethod
    def make(answers, size=(2, 3), **options):
        made = Tensor.make_wrapper_subclass(Answering, size, **options)
        made.answers, made.asked = answers, []
        return made

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        self = args[0]
        self.asked.append(op.name())
        assert types == (Answering,)
        assert not kwargs
        answer = self.answers.get(op.name().partition("::")[2].partition(".")[0])
        return answer(*args[1:]) if callable(answer) else answer


def taken(made):
    asked, made.asked = made.asked, []
    return asked


def test_E31_a_wrapper_has_what_it_was_given(x):
    made = Answering.make({}, (2, 3), dtype=opyard.int64, device="cuda:1")
    assert type(made) is Answering
    assert (made.shape, made.strides, made.ndim) == ((2, 3), (3, 1), 2)
    assert (made.dtype, made.device) == (opyard.int64, opyard.device("cuda:1"))
    assert made.layout is opyard.Layout.strided
    assert made.numel() == 6
    assert made.is_contiguous()
    assert taken(made) == [], "without policies no one is asked"
    strided = Answering.make({}, (2, 3), strides=(1, 2), storage_offset=4)
    assert (strided.strides, strided.storage_offset()) == ((1, 2), 4)
    assert not strided.is_contiguous()
    last = Answering.make({}, (2, 3, 4, 5), memory_format=2)
    assert last.strides == (60, 1, 15, 3)
    assert Answering.make({}, ()).shape == ()
    assert not made.requires_grad
    needing = Answering.make({}, (2,), requires_grad=True)
    assert (needing.requires_grad, needing.is_leaf, taken(needing)) == (True, True, [])
    with pytest.raises(NotImplementedError, match="another layout with dispatch_layout=True"):
        Answering.make({}, (2, 3), layout=opyard.Layout.sparse)


def test_E32_each_attribute_asks_its_operator_under_the_policy_sizes():
    made = Answering.make(
        {
            "sym_size": (4, 5),
            "size": (4, 5),
            "sym_stride": [5, 1],
            "stride": [5, 1],
            "dim": 2,
            "sym_numel": 20,
            "numel": 20,
            "sym_storage_offset": 7,
            "is_contiguous": False,
        },
        dispatch_sizes_strides_policy="sizes",
    )
    for read, expected, operator in (
        (lambda t: t.shape, (4, 5), "aten::sym_size"),
        (lambda t: t.size(), (4, 5), "aten::sym_size"),
        (lambda t: t.size(-1), 5, "aten::sym_size"),
        (lambda t: t.strides, (5, 1), "aten::sym_stride"),
        (lambda t: t.stride(), (5, 1), "aten::sym_stride"),
        (lambda t: t.stride(0), 5, "aten::sym_stride"),
        (lambda t: t.dim(), 2, "aten::dim"),
        (lambda t: t.ndim, 2, "aten::dim"),
        (lambda t: t.numel(), 20, "aten::sym_numel"),
        (lambda t: t.storage_offset(), 7, "aten::sym_storage_offset"),
        (lambda t: t.is_contiguous(), False, "aten::is_contiguous"),
    ):
        assert read(made) == expected
        assert taken(made) == [operator]
    assert made.device == opyard.device("cpu")
    assert made.layout is opyard.Layout.strided
    assert taken(made) == []


def test_E32_the_policy_strides_leaves_sizes_alone():
    made = Answering.make({"sym_stride": (9, 9)}, dispatch_sizes_strides_policy="strides")
    assert made.shape == (2, 3)
    assert taken(made) == []
    assert made.stride() == (9, 9)
    assert taken(made) == ["aten::sym_stride"]


def test_E32_device_and_layout_are_asked_for_where_the_class_said_so():
    made = Answering.make(
        {"device": opyard.device("cuda:3"), "layout": opyard.Layout.sparse},
        dispatch_device=True,
        dispatch_layout=True,
    )
    assert made.device == opyard.device("cuda:3")
    assert taken(made) == ["prim::device"]
    assert made.layout is opyard.Layout.sparse
    assert taken(made) == ["prim::layout"]
    assert opyard.ops.prim.device.default is opyard.ops.prim.device.default


def test_E9_none_means_what_the_tensor_was_made_with(slots):
    made = Answering.make({}, dispatch_sizes_strides_policy="sizes")
    assert (made.shape, made.stride(), made.numel()) == ((2, 3), (3, 1), 6)
    assert made.is_contiguous()
    assert made.storage_offset() == 0
    assert slots.ask("sizes", made) == [2, 3]
    assert slots.ask("strides", made) == [3, 1]
    assert slots.ask("numel", made) == 6
    assert slots.ask("is_strides_like", made) is True
    assert slots.ask("is_non_overlapping_and_dense", made) is True


@pytest.mark.parametrize(
    ("operator", "answer", "read", "message"),
    [
        ("is_contiguous", "no", Tensor.is_contiguous, "is_contiguous: str bool"),
        ("dim", "two", Tensor.dim, "dim: str int"),
        ("dim", None, Tensor.dim, "dim: NoneType int"),
        ("layout", "strided", lambda t: t.layout, "layout: str Layout"),
        ("layout", None, lambda t: t.layout, "layout: NoneType Layout"),
        ("device", "cpu", lambda t: t.device, "device: str Device"),
        ("device", None, lambda t: t.device, "device: NoneType Device"),
        ("sym_size", 3, lambda t: t.shape, "sizes must be a list or a tuple"),
        ("sym_stride", "ab", Tensor.stride, "strides must be a list or a tuple"),
        ("sym_size", ["a"], lambda t: t.shape, "sizes: str int or SymInt"),
        ("sym_numel", 1.5, Tensor.numel, "numel: float int or SymInt"),
    ],
)
def test_E9_an_answer_of_a_wrong_type_is_refused(operator, answer, read, message):
    made = Answering.make(
        {operator: answer},
        dispatch_sizes_strides_policy="sizes",
        dispatch_device=True,
        dispatch_layout=True,
    )
    with pytest.raises(TypeError) as raised:
        read(made)
    assert str(raised.value) == in_full(message)


def in_full(message):
    """The message "slot: came wanted" as it is said."""
    slot, colon, types = message.partition(": ")
    came, _, wanted = types.partition(" ")
    return f"{slot} returned invalid type {came}, expected {wanted}" if colon else message


@pytest.mark.parametrize(
    ("slot", "operator", "answer", "message"),
    [
        ("sizes", "size", 3, "sizes must be a list or a tuple"),
        ("strides", "stride", 3, "strides must be a list or a tuple"),
        ("sizes", "size", (2, "a"), "sizes: str int"),
        ("numel", "numel", "many", "numel: str int"),
        ("is_strides_like", "is_strides_like_format", 1, "is_strides_like: int bool"),
        ("is_non_overlapping_and_dense",) * 2 + (1, "is_non_overlapping_and_dense: int bool"),
    ],
)
def test_E9_cpp_gets_the_same_refusals(slots, slot, operator, answer, message):
    made = Answering.make({operator: answer}, dispatch_sizes_strides_policy="sizes")
    with pytest.raises(TypeError) as raised:
        slots.ask(slot, made)
    assert str(raised.value) == in_full(message)


@pytest.mark.parametrize(
    ("operator", "answer", "read", "message"),
    [
        ("dim", -1, Tensor.dim, "dim returned -1; accepted are numbers from 0 on"),
        (
            "sym_size",
            [2, -3],
            lambda t: t.shape,
            "sizes returned -3 at position 1; accepted are numbers from 0 on",
        ),
        (
            "sym_numel",
            -6,
            Tensor.numel,
            "numel returned -6; accepted are numbers from 0 on",
        ),
    ],
)
def test_E32_there_are_no_fewer_than_no_elements(operator, answer, read, message):
    made = Answering.make({operator: answer}, dispatch_sizes_strides_policy="sizes")
    with pytest.raises(ValueError) as raised:
        read(made)
    assert str(raised.value) == message


def test_E32_cpp_gets_no_negative_sizes_but_any_strides(slots):
    made = Answering.make(
        {"size": (2, -3), "stride": (-1, 3)}, dispatch_sizes_strides_policy="sizes"
    )
    with pytest.raises(ValueError) as raised:
        slots.ask("sizes", made)
    assert str(raised.value) == "sizes returned -3 at position 1; accepted are numbers from 0 on"
    assert list(slots.ask("strides", made)) == [-1, 3]


def test_E9_an_exception_of_the_handler_comes_out_as_itself():
    def fail():
        raise KeyError("mine")

    made = Answering.make({"sym_size": fail}, dispatch_sizes_strides_policy="sizes")
    with pytest.raises(KeyError, match="mine"):
        made.shape  # noqa: B018


def test_E33_sizes_live_as_long_as_the_tensor_and_are_refreshed_in_place(slots):
    made = Answering.make({"size": [4, 5]}, dispatch_sizes_strides_policy="sizes")
    first = slots.hold_sizes(made)
    assert slots.held(first) == [4, 5]
    gc.collect()
    made.answers["size"] = [6, 7]
    second = slots.hold_sizes(made)
    assert second == first, "the same memory"
    assert slots.held(first) == [6, 7]
    made.answers["size"] = [1, 2, 3, 4, 5]
    third = slots.hold_sizes(made)
    assert third == first, "five dimensions are in place"
    made.answers["size"] = [1, 2, 3, 4, 5, 6]
    assert slots.hold_sizes(made) != first
    assert list(slots.ask("sizes", made)) == [1, 2, 3, 4, 5, 6]


def test_E33_a_failed_answer_leaves_the_former_one(slots):
    made = Answering.make({"size": [4, 5]}, dispatch_sizes_strides_policy="sizes")
    first = slots.hold_sizes(made)
    made.answers["size"] = [6, "a"]
    with pytest.raises(TypeError):
        slots.hold_sizes(made)
    assert slots.held(first) == [4, 5]


def test_E31_bad_requests_are_refused():
    with pytest.raises(ValueError) as raised:
        Answering.make({}, dispatch_sizes_strides_policy="zzz")
    assert str(raised.value) == "Unknown sizes_strides_policy: zzz; expected 'strides' or 'sizes'"

    class Foo(Tensor):
        pass

    for cls, name in ((Foo, "Foo"), (Tensor, "opyard.Tensor")):
        with pytest.raises(TypeError) as raised:
            Tensor.make_wrapper_subclass(cls, (2,))
        assert str(raised.value) == (
            f"{name} must define __opyard_dispatch__: make_wrapper_subclass() makes a tensor "
            "without elements, for which its class has to handle every operator"
        )
    with pytest.raises(TypeError, match="a subclass of it, not the class int"):
        Tensor.make_wrapper_subclass(int, (2,))
    with pytest.raises(TypeError, match=r"'size' must be of type SymInt\[\], not str"):
        Answering.make({}, "ab")
    with pytest.raises(ValueError, match="negative"):
        Answering.make({}, (-1,))
    with pytest.raises(ValueError, match="both 'strides' and 'memory_format'"):
        Answering.make({}, (2,), strides=(1,), memory_format=0)
    with pytest.raises(NotImplementedError, match="only strided tensors"):
        Answering.make({}, (2,), layout=opyard.Layout.sparse)


def test_E32_modes_are_asked_before_the_class():
    class Big(DispatchMode):
        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            if op.name() == "aten::sym_size":
                return [100]
            return NotImplemented

    made = Answering.make({"sym_size": (4, 5)}, dispatch_sizes_strides_policy="sizes")
    with Big():
        assert made.shape == (100,)
        assert made.stride() == (3, 1), "the mode left it to the class"
    assert made.shape == (4, 5)


def test_E32_operators_see_what_the_class_says(slots):
    made = Answering.make({"dim": 9}, dispatch_sizes_strides_policy="sizes")
    assert made.dim() == 9
    plain = opyard.tensor([[1.0, 2.0]])
    aten = opyard.ops.aten
    assert aten.sym_size(plain) == [1, 2]
    assert aten.size(plain) == [1, 2]
    assert aten.stride(plain) == [2, 1]
    assert (aten.dim(plain), aten.numel(plain), aten.sym_numel(plain)) == (2, 2, 2)
    assert aten.is_contiguous(plain) is True
    assert aten.is_contiguous(plain, 2) is False
    assert opyard.ops.prim.device(plain) == opyard.device("cpu")
    assert opyard.ops.prim.layout(plain) == 0


def test_kernels_refuse_tensors_without_memory():
    class Bare(opyard.Tensor):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return super().__opyard_dispatch__(op, types, args, kwargs)

    bare = opyard.Tensor.make_wrapper_subclass(Bare, (4,), dtype=opyard.float32, device="cpu")
    plain = bare.alias()
    whole = opyard.tensor([1.0, 2.0, 3.0, 4.0])
    for call in (
        lambda: plain + 1, lambda: bare + 1, lambda: whole + plain, lambda: plain.sum(),
        lambda: plain.clone(), lambda: whole.copy_(plain), lambda: plain.fill_(1),
        lambda: opyard.ops.aten.cat([whole, plain]), lambda: opyard.tensor(plain),
        lambda: plain.neg(), lambda: plain[0] + 1, lambda: plain.alias() * 2,
    ):  # fmt: skip
        with pytest.raises((ValueError, NotImplementedError), match="no memory"):
            call()


@pytest.mark.parametrize("size", [(1 << 63,), (1.5,), [[]], ("a",)])
def test_E31_sizes_that_are_no_sizes_are_refused(size):
    class Bare(opyard.Tensor):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            return None

    with pytest.raises(TypeError, match=r"'size' must be of type SymInt"):
        opyard.Tensor.make_wrapper_subclass(Bare, size)


def test_E35_the_modes_below_a_handler_are_asked_of_attributes(library, ns):
    seen = []

    class Noting(DispatchMode):
        def __init__(self, name):
            self.name = name

        def __opyard_dispatch__(self, op, types, args=(), kwargs=None):
            seen.append((self.name, op.name()))
            if self.name == "inner" and op is f:
                assert args[0].shape == (4, 5)
            return op(*args)

    library.define("f(Tensor x) -> Any")
    f = getattr(opyard.ops, ns).f.default
    made = Answering.make({"sym_size": (4, 5)}, dispatch_sizes_strides_policy="sizes")
    with Noting("outer"), Noting("inner"):
        f(made)
    assert seen == [("inner", f.name()), ("outer", "aten::sym_size"), ("outer", f.name())]
    assert taken(made) == ["aten::sym_size", f.name()]


def test_E35_questions_are_asked_with_the_sets_that_the_call_entered_with(library, ns):
    """A layer excludes itself on its way down; who answers a question of it does not see that."""
    seen = []

    class Noting(Tensor):
        @classmethod
        def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
            name = op.name()
            seen.append((name, excluded("Batched"), included("OnTop1")))
            if name == "aten::sym_size":
                return [7]
            return inside(args[0])

    def inside(x):
        seen.append(("inside", excluded("Batched"), included("OnTop1")))
        with ExcludeDispatchKeyGuard("AutocastCPU"), IncludeDispatchKeyGuard("OnTop1"):
            assert x.shape == (7,), "a handler begins anew, and sees its own guards"
        return x

    def layer(keyset, x):
        with ExcludeDispatchKeyGuard("Batched"), IncludeDispatchKeyGuard("OnTop1"):
            assert x.shape == (7,)
            return op.redispatch(keyset & below, x)

    made = Tensor.make_wrapper_subclass(Noting, (2,), dispatch_sizes_strides_policy="sizes")
    below = DispatchKeySet(["CPU", "Python"])
    library.define("op(Tensor x) -> Tensor")
    library.impl("op", layer, "Batched", with_keyset=True)
    op = getattr(opyard.ops, ns).op.default
    with IncludeDispatchKeyGuard("Batched"):
        assert op(made) is made
        assert (excluded("Batched"), included("OnTop1")) == (False, False)
    assert seen == [
        ("aten::sym_size", False, False),
        (op.name(), True, True),
        ("inside", True, True),
        ("aten::sym_size", True, True),
    ]
    seen.clear()
    with ExcludeDispatchKeyGuard("Batched"):
        assert made.shape == (7,), "asked outside of any call"
    assert seen == [("aten::sym_size", True, False)]
