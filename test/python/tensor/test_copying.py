"""test_copying.py: copies and pickles of tensors are whole.

Suspect _tensor/copying.py, tensor_copy.cpp.

Numbers here are not of a behaviour; design rule: what a tensor was before, it is afterwards.
"""

import copy
import gc
import io
import pickle
import subprocess
import sys
import weakref

import pytest
from processes import run

import opyard

pytestmark = pytest.mark.memory

PROTOCOLS = range(pickle.HIGHEST_PROTOCOL + 1)
DTYPES = ["uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
          "complex64", "complex128", "bool"]  # fmt: skip


def check_same(copied, tensor):
    assert type(copied) is type(tensor)
    assert copied is not tensor
    assert (copied.dtype, copied.shape, copied.device) == (
        tensor.dtype, tensor.shape, tensor.device)  # fmt: skip
    assert copied.tolist() == tensor.tolist()


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_every_dtype_and_protocol(dtype, protocol):
    tensor = opyard.tensor([[0, 1, 1], [1, 0, 1]], dtype=getattr(opyard, dtype))
    copied = pickle.loads(pickle.dumps(tensor, protocol))
    check_same(copied, tensor)
    copied._bytes()[0] = 1  # its memory is its own, and may be written
    assert tensor._bytes().tolist()[0] == 0


SHAPED = {
    "no dimensions": lambda: opyard.tensor(3.5),
    "empty": lambda: opyard.tensor([[], []]),
    "one element": lambda: opyard.tensor([[[7]]]),
    "transposed": lambda: opyard.tensor([[1, 2, 3], [4, 5, 6]]).T,
    "every other": lambda: opyard.tensor([[1, 2, 3], [4, 5, 6]])[:, ::2],
    "a row": lambda: opyard.tensor([[1, 2, 3], [4, 5, 6]])[1],
    "expanded": lambda: opyard.ops.aten.expand(opyard.tensor([[1], [2]]), [2, 4]),
}


@pytest.mark.parametrize("shape", SHAPED)
def test_every_shape(shape):
    tensor = SHAPED[shape]()
    for made in (copy.copy(tensor), copy.deepcopy(tensor), pickle.loads(pickle.dumps(tensor))):
        check_same(made, tensor)


def test_a_copy_shares_memory_and_a_deep_one_does_not():
    tensor = opyard.tensor([1, 2, 3])
    shared, own = copy.copy(tensor), copy.deepcopy(tensor)
    tensor[0] = 9
    assert (shared.tolist(), own.tolist()) == ([9, 2, 3], [1, 2, 3])


def test_a_deep_copy_keeps_the_order_in_memory_where_nothing_overlaps():
    tensor = opyard.tensor([[1, 2, 3], [4, 5, 6]]).T
    assert copy.deepcopy(tensor).strides == tensor.strides == (1, 3)
    expanded = SHAPED["expanded"]()
    assert copy.deepcopy(expanded).strides == (4, 1)


def test_what_stands_twice_stands_twice_afterwards():
    tensor = opyard.tensor([1])
    for again in (copy.deepcopy, lambda whole: pickle.loads(pickle.dumps(whole))):
        first, (second,) = again([tensor, [tensor]])
        assert first is second and first is not tensor


def test_out_of_band_no_byte_is_copied():
    tensor = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    buffers = []
    pickled = pickle.dumps(tensor, 5, buffer_callback=buffers.append)
    assert len(pickled) < 200 and len(buffers) == 1
    made = pickle.loads(pickled, buffers=buffers)
    check_same(made, tensor)
    assert made.data_ptr() == tensor.data_ptr()
    memory = bytearray(buffers[0].raw())
    made = pickle.loads(pickled, buffers=[memory])
    made[0, 0] = 5
    assert memory[:4] == bytearray(opyard.tensor([5.0]).numpy().tobytes())
    shifted = memoryview(bytearray(17))[1:]  # where floats may not be
    shifted[:] = memory
    assert pickle.loads(pickled, buffers=[shifted]).tolist() == [[5, 2], [3, 4]]


def test_memory_that_is_read_only_stays_so_where_it_is_shared():
    tensor = opyard.from_numpy(memoryview(b"abc"))
    for made in (copy.copy(tensor), pickle.loads(pickle.dumps(tensor))):
        with pytest.raises(ValueError, match="read-only"):
            made[0] = 1
    copy.deepcopy(tensor)[0] = 1


def test_tensors_without_memory():
    meta = opyard.ops.aten.empty([2, 3], dtype=opyard.float64, device="meta")
    for made in (copy.copy(meta), copy.deepcopy(meta), pickle.loads(pickle.dumps(meta))):
        assert (made.shape, made.dtype, made.device.type) == ((2, 3), opyard.float64, "meta")


def test_a_pickle_that_contradicts_itself_is_refused():
    from opyard._tensor.copying import rebuild

    for shape, data in [((2, 3), bytes(5)), ((1 << 62, 1 << 62), bytes(8)), ((-1,), bytes(4)),
                        ((0, 1 << 63 - 1), b"x")]:  # fmt: skip
        with pytest.raises(ValueError, match="a pickled tensor has"):
            rebuild(opyard.Tensor, opyard.float32, shape, data)
    for wrong in [(opyard.Tensor, 3, (1,), bytes(4)), (opyard.Tensor, opyard.int8, [1], b"x"),
                  (opyard.Tensor, opyard.int8, (1,), 3)]:  # fmt: skip
        with pytest.raises(TypeError):
            rebuild(*wrong)


def test_a_damaged_pickle_never_crashes():
    tensor = opyard.tensor([[1.0, 2.0], [3.0, 4.0]])
    pickled = pickle.dumps(tensor, 2)
    for place in range(len(pickled)):
        with pytest.raises(Exception):  # noqa: B017
            pickle.loads(pickled[:place])


def test_to_another_process_and_back():
    program = """
import pickle, sys
tensor = pickle.load(sys.stdin.buffer)
tensor[0] = 42
sys.stdout.buffer.write(pickle.dumps([tensor, tensor.dtype, tensor.device]))
"""
    given = pickle.dumps(opyard.tensor([1, 2]))
    done = subprocess.run([sys.executable, "-c", program], input=given, capture_output=True)
    assert done.stderr == b""
    tensor, dtype, device = pickle.loads(done.stdout)
    assert (tensor.tolist(), dtype is opyard.int64, device) == ([42, 2], True, opyard.device("cpu"))


OTHERS = {
    "dtype": lambda: opyard.float32,
    "device": lambda: opyard.device("cuda:1"),
    "key set": lambda: opyard.dispatch.DispatchKeySet(["CPU", "AutogradCPU"]),
    "operator": lambda: opyard.ops.aten.add.Tensor,
    "packet": lambda: opyard.ops.aten.add,
    "namespace": lambda: opyard.ops.aten,
    "tag": lambda: next(iter(opyard.Tag)),
    "key": lambda: opyard.dispatch.DispatchKey.CPU,
    "schema": lambda: opyard.schema.parse("t::f(Tensor x, *, int[2] n=[1, 2]) -> (Tensor y)"),
}


@pytest.mark.parametrize("what", OTHERS)
def test_what_stands_beside_tensors_is_copied_and_pickled_too(what):
    thing = OTHERS[what]()
    for protocol in PROTOCOLS:
        assert pickle.loads(pickle.dumps(thing, protocol)) == thing
    assert copy.copy(thing) == thing
    assert copy.deepcopy([thing])[0] == thing


class OfOpyardAlone(pickle.Unpickler):
    """As one is that lets nothing of Python run: getattr() and eval() lead everywhere."""

    def find_class(self, module, name):
        assert module.partition(".")[0] == "opyard", f"{module}.{name}"
        return super().find_class(module, name)


@pytest.mark.parametrize("what", OTHERS)
def test_what_stands_beside_tensors_is_made_again_by_names_of_opyard_alone(what):
    thing = OTHERS[what]()
    for protocol in PROTOCOLS:
        assert OfOpyardAlone(io.BytesIO(pickle.dumps(thing, protocol))).load() == thing


CLASSES = """
import opyard
from opyard import _bind, _gradients, _graphs, _models

seen = []
for module in (_bind, _gradients, _graphs, _models):
    for name, cls in vars(module).items():
        if not isinstance(cls, type) or type(cls).__name__ != "pybind11_type":
            continue
        seen.append(name)
        for method in ("__new__", "__reduce__", "__reduce_ex__"):
            assert method in vars(cls), (name, method)
        try:
            made = cls.__new__(cls)
        except TypeError:
            continue
        for protocol in range(6):
            try:
                made.__reduce_ex__(protocol)
            except TypeError as error:
                assert str(error).startswith("cannot pickle"), error
print(*sorted(seen))
"""


def test_no_class_makes_objects_without_a_value_or_ends_the_process():
    """What each class of pybind11 has to close: see bind/classes.h."""
    ended = run(CLASSES)
    assert (ended.code, ended.stderr) == (0, ""), ended
    assert {"Schema", "Graph", "Model", "CallKeys", "Function"} <= set(ended.stdout.split())


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_parts_of_schemas_refuse_to_be_pickled_and_nothing_ends(protocol):
    argument = opyard.schema.parse("f(Tensor(a!) x) -> ()").arguments[0]
    for thing in (argument, argument.type, argument.alias_info):
        with pytest.raises(TypeError, match="^cannot pickle '"):
            pickle.dumps(thing, protocol)


def test_nothing_of_a_copy_is_left():
    tensor = opyard.tensor([1, 2])
    owners = sys.getrefcount(tensor)
    for again in (copy.copy, copy.deepcopy, lambda t: pickle.loads(pickle.dumps(t))):
        made = again(tensor)
        gone = weakref.ref(made)
        del made
        gc.collect()
        assert gone() is None
    assert sys.getrefcount(tensor) == owners


# subclasses -------------------------------------------------------------------------------


class Named(opyard.Tensor):
    def __new__(cls, data, name):
        made = opyard.Tensor.make_subclass(cls, data)
        made.name = name
        return made

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        raise AssertionError("copying calls no operator")


class Slotted(opyard.Tensor):
    __slots__ = ("first", "sum")

    def __new__(cls, data):
        return opyard.Tensor.make_subclass(cls, data)


class Both(Slotted):
    __slots__ = ("second",)


class WithState(Named):
    def __getstate__(self):
        return {"kept": self.name.upper()}

    def __setstate__(self, state):
        self.name = state["kept"]


AGAIN = {
    "copy": copy.copy,
    "deepcopy": copy.deepcopy,
    **{f"pickle {n}": lambda t, n=n: pickle.loads(pickle.dumps(t, n)) for n in PROTOCOLS},
}


@pytest.mark.parametrize("again", AGAIN)
def test_a_subclass_keeps_class_and_attributes(again):
    tensor = Named(opyard.tensor([1, 2]), ["a"])
    made = AGAIN[again](tensor)
    assert type(made) is Named and made is not tensor
    assert bytes(made._bytes()) == bytes(tensor._bytes())
    assert made.name == ["a"] and vars(made) == {"name": ["a"]}
    assert (made.name is tensor.name) is (again == "copy")


@pytest.mark.parametrize("again", AGAIN)
def test_slots_are_kept_and_empty_ones_stay_empty(again):
    for cls, names in [(Slotted, ["first"]), (Both, ["first", "second"])]:
        tensor = cls(opyard.tensor([1, 2]))
        for name in names:
            setattr(tensor, name, [name])
        made = AGAIN[again](tensor)
        check_same(made, tensor)
        assert [getattr(made, name) for name in names] == [[name] for name in names]
        with pytest.raises(AttributeError):
            cls.sum.__get__(made, cls)  # also the name of an operator, which is not its value


@pytest.mark.parametrize("again", AGAIN)
def test_a_class_with_a_state_of_its_own_is_asked_for_it(again):
    assert AGAIN[again](WithState(opyard.tensor([1]), "loud")).name == "LOUD"


@pytest.mark.parametrize("again", AGAIN)
def test_attributes_of_an_exact_tensor_are_kept(again):
    tensor = opyard.tensor([1.0])
    tensor.note = ["of mine"]
    made = AGAIN[again](tensor)
    assert type(made) is opyard.Tensor and made.note == ["of mine"]


def test_a_deep_copy_of_a_tensor_that_leads_to_itself():
    tensor = Named(opyard.tensor([1]), None)
    tensor.name = [tensor]
    made = copy.deepcopy(tensor)
    assert made.name[0] is made
    made = pickle.loads(pickle.dumps(tensor))
    assert made.name[0] is made


# ---- several on one memory


SAME = {
    "deepcopy": copy.deepcopy,
    **{f"pickle {n}": lambda whole, n=n: pickle.loads(pickle.dumps(whole, n)) for n in PROTOCOLS},
}
ON_ONE_MEMORY = {
    "a row": lambda x: x[1],
    "every other": lambda x: x[:, ::2],
    "transposed": lambda x: x.T,
    "expanded": lambda x: x[:1].expand(4, 3),
    "detached": lambda x: x.detach(),
}


@pytest.mark.parametrize("way", SAME)
@pytest.mark.parametrize("view", ON_ONE_MEMORY)
def test_tensors_on_one_memory_are_on_one_memory_afterwards(view, way):
    tensor = opyard.tensor([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    other = ON_ONE_MEMORY[view](tensor)
    for pair in ([tensor, other], (other, tensor), {"a": tensor, "b": [other]}):
        made = SAME[way](pair)
        one, two = made if isinstance(made, list | tuple) else (made["a"], made["b"][0])
        if type(pair) is tuple:
            one, two = two, one
        check_same(one, tensor)
        check_same(two, other)
        assert (one.strides, two.strides) == (tensor.strides, other.strides)
        assert one.data_ptr() != tensor.data_ptr()
        assert two.data_ptr() - one.data_ptr() == other.data_ptr() - tensor.data_ptr()
        one.fill_(7.0)
        assert two.tolist() == ON_ONE_MEMORY[view](opyard.full([2, 3], 7.0)).tolist()
        assert tensor[0, 0].item() == 1.0


@pytest.mark.parametrize("way", SAME)
def test_one_that_is_alone_on_its_memory_takes_its_elements_only(way):
    row = opyard.zeros([1000, 4])[3].clone()
    assert len(pickle.dumps(row)) < 500
    assert SAME[way](row).tolist() == [0.0] * 4


@pytest.mark.parametrize("way", SAME)
def test_a_gradient_is_kept(way):
    leaf = opyard.tensor([1.0, 2.0], requires_grad=True)
    (leaf * leaf).sum().backward()
    made = SAME[way](leaf)
    assert made.requires_grad and made.is_leaf
    assert made.grad.tolist() == leaf.grad.tolist() == [2.0, 4.0]
    assert made.grad.data_ptr() != leaf.grad.data_ptr()
    layer = opyard.nn.Linear(2, 1)
    layer(opyard.ones([1, 2])).sum().backward()
    assert SAME[way](layer).weight.grad.tolist() == [[1.0, 1.0]]


@pytest.mark.parametrize("way", [*SAME, "copy"])
def test_what_has_a_history_is_refused_by_all_alike(way):
    result = opyard.tensor([1.0], requires_grad=True) * 2
    with pytest.raises(ValueError, match=r"has a history of gradients.*detach\(\)"):
        {**SAME, "copy": copy.copy}[way](result)


@pytest.mark.parametrize("strides, offset", [((2, 1), 5), ((1 << 62, 1), 0), ((1, 1), -1)])
def test_geometry_that_leaves_the_memory_of_a_pickle_is_refused(strides, offset):
    from opyard._tensor.copying import rebuild_on_memory

    memory = opyard.zeros([16], dtype=opyard.uint8)
    with pytest.raises(ValueError):
        rebuild_on_memory(opyard.Tensor, memory, opyard.float32, (2, 2), strides, offset)


@pytest.mark.parametrize(
    "again",
    [copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))],
    ids=["deep", "pickle"],
)
@pytest.mark.parametrize("leaf_first", [True, False])
def test_what_was_detached_stays_so_beside_the_leaf_on_its_memory(again, leaf_first):
    w = opyard.tensor([1.0, 2.0], requires_grad=True)
    d = w.detach()
    made = again([w, d] if leaf_first else [d, w])
    w2, d2 = made if leaf_first else reversed(made)
    assert (w2.requires_grad, d2.requires_grad, d2.is_leaf) == (True, False, True)
    d2.requires_grad_()
    (d2 * 3).sum().backward()
    (w2 * 5).sum().backward()
    assert (d2.grad.tolist(), w2.grad.tolist()) == ([3.0, 3.0], [5.0, 5.0])
    with opyard.no_grad():
        w2[0] = 9.0
    assert d2.tolist() == [9.0, 2.0]  # one memory
