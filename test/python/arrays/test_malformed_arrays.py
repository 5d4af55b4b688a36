"""test_malformed_arrays.py (T3, P17): arrays that no tensor can represent.

The structs are in test/dlpack/malformed.txt. Each comes in by every door: in a capsule, as what
__dlpack__ gives, by an exchange table, and so in a list. A refusal gives the struct back exactly
once, and leaves nothing behind in a loop. Suspect dispatcher/src/tensor/dlpack.cpp.
"""

import builtins
import ctypes
import itertools
import json
import re
from dataclasses import dataclass

import numpy as np
import pytest
from array_libraries import LIBRARIES
from built import TESTS, import_arrays
from processes import leaks
from test_dlpack import Producer, api

import opyard

pytestmark = pytest.mark.memory

FILE = TESTS / "dlpack" / "malformed.txt"
HEAD = re.compile(r"^(?P<name>.+) \[(?P<family>.+)\] (?P<error>\w+) (?P<changes>{.*})$")


@dataclass(frozen=True)
class Struct:
    name: str
    family: str  # as T3 lists them
    error: "type[Exception] | None"
    text: str
    changes: dict

    @property
    def versioned_only(self):
        return self.changes.get("versioned", False)


def read_structs():
    for block in FILE.read_text("utf-8").split("\n== ")[1:]:
        head, _, text = block.partition("\n")
        found = HEAD.match(head)
        yield Struct(
            found["name"],
            found["family"],
            getattr(builtins, found["error"], None),
            text.strip(),
            json.loads(found["changes"]),
        )


STRUCTS = list(read_structs())
T3 = {"ndim", "shape", "numel overflow", "strides", "lanes", "bits", "device", "version", "deleter"}


def test_T3_the_corpus_is_complete():
    assert len(STRUCTS) >= 40
    assert {case.family for case in STRUCTS} >= T3 | {"good", "data", "code"}
    assert len({case.name for case in STRUCTS}) == len(STRUCTS)
    assert sum(case.error is not None for case in STRUCTS) >= 40


# doors ------------------------------------------------------------------------------------


def produce(case, versioned):
    changes = {name: value for name, value in case.changes.items() if name != "versioned"}
    producer = Producer(versioned, deleter=changes.pop("deleter", True))
    array = producer.managed.array
    for name in ("shape", "strides"):
        if name in changes:
            words = changes.pop(name)
            kept = words and (ctypes.c_int64 * len(words))(*words)
            setattr(producer, f"kept_{name}", kept)
            setattr(array, name, kept)
    array.data += changes.pop("data_offset", 0)
    for name, value in changes.items():
        setattr(producer.managed if hasattr(producer.managed, name) else array, name, value)
    return producer


class Exporter:
    def __init__(self, producer):
        self.producer = producer

    def __dlpack__(self, **arguments):
        return self.producer.capsule()


class Header(ctypes.Structure):
    pass


Header._fields_ = (
    ("major", ctypes.c_uint32),
    ("minor", ctypes.c_uint32),
    ("older", ctypes.POINTER(Header)),
)
FromObject = ctypes.PYFUNCTYPE(ctypes.c_int, ctypes.py_object, ctypes.POINTER(ctypes.c_void_p))


class Table(ctypes.Structure):
    _fields_ = (
        ("header", Header),
        ("allocate", ctypes.c_void_p),
        ("from_object", FromObject),
        ("to_object", ctypes.c_void_p),
        ("borrow", ctypes.c_void_p),
        ("stream", ctypes.c_void_p),
    )


@FromObject
def hand_out(array, out):
    out[0] = ctypes.addressof(array.producer.managed)
    return 0


def table_capsule(table, name=b"dlpack_exchange_api"):
    return api.PyCapsule_New(ctypes.addressof(table), name, None)


TABLE = Table(Header(1, 3, None), None, hand_out, None, None, None)


class Tabled:
    def __init__(self, producer):
        self.producer = producer

    __dlpack_c_exchange_api__ = table_capsule(TABLE)


@pytest.fixture(scope="module")
def op():
    library = opyard.library.Library("malformed", "FRAGMENT")
    library.define("op(Tensor x) -> int[]")
    library.impl("op", lambda x: list(x.shape), "CPU")
    library.define("more(int n, Tensor?[] xs) -> int[]")
    library.impl("more", lambda n, xs: list(xs[1].shape), "CPU")
    yield opyard.ops.malformed
    library._destroy()


def refusal(kind, text):
    return (
        f"malformed::op() cannot take what was given for argument 'x', "
        f"a value of type '{kind}': {text}.\n"
        "Position: 0\nDeclaration: malformed::op(Tensor x) -> int[]"
    )


def refusal_in_list(kind, text):
    return (
        "malformed::more() cannot take what was given for argument 'xs'[1], "
        f"a value of type '{kind}': {text}.\n"
        "Position: 1\nDeclaration: malformed::more(int n, Tensor?[] xs) -> int[]"
    )


def from_capsule(ops, producer):
    return opyard.from_dlpack(producer.capsule()).shape


# How a struct comes in, and the text around what is wrong with it.
DOORS = {
    "capsule": (from_capsule, lambda text: text),
    "method": (lambda ops, p: ops.op(Exporter(p)), lambda text: refusal("Exporter", text)),
    "table": (lambda ops, p: ops.op(Tabled(p)), lambda text: refusal("Tabled", text)),
    "list": (
        lambda ops, p: ops.more(1, [None, Tabled(p)]),
        lambda text: refusal_in_list("Tabled", text),
    ),
}
CASES = [
    (case, versioned, door)
    for case, versioned, door in itertools.product(STRUCTS, [False, True], DOORS)
    if versioned or (not case.versioned_only and door in ("capsule", "method"))
]


def below_zero(dim, stride):
    return (
        f"the stride of dimension {dim} is {stride} elements, and tensors on foreign memory have "
        "none below zero; copy the array first, as array.copy() does"
    )


def said(door, case):
    """The whole text through a door; from_dlpack() says itself that it refuses strides."""
    text = DOORS[door][1](case.text)
    return f"from_dlpack: {text}" if door == "capsule" and "below zero" in text else text


@pytest.mark.parametrize(
    ("case", "versioned", "door"),
    CASES,
    ids=lambda v: v.name if isinstance(v, Struct) else str(v),
)
def test_T3_structs(op, case, versioned, door):
    enter = DOORS[door][0]
    producer = produce(case, versioned)
    if case.error is None:
        array = producer.managed.array
        assert list(enter(op, producer)) == [array.shape[i] for i in range(array.ndim)]
    else:
        with pytest.raises(case.error) as caught:
            enter(op, producer)
        assert str(caught.value) == said(door, case)
        assert type(caught.value) is case.error
    assert producer.deleted == (1 if case.changes.get("deleter", True) else 0)


@pytest.mark.parametrize("door", DOORS)
def test_T3_structs_leave_nothing_behind(op, door):
    enter = DOORS[door][0]
    producers = [(case, produce(case, versioned)) for case, versioned, at in CASES if at == door]

    def step():
        for case, producer in producers:
            producer.threads.clear()  # one number for each call of the deleter
            if case.error is None:
                enter(op, producer)
            else:
                try:
                    enter(op, producer)
                except case.error:
                    continue
                raise AssertionError(case.name)

    assert not leaks(step)
    deleted = {producer.deleted for case, producer in producers if "deleter" not in case.changes}
    assert len(deleted) == 1


# what is offered --------------------------------------------------------------------------


def refused_by(op, array, error, text):
    with pytest.raises(error) as caught:
        op.op(array)
    assert str(caught.value) == refusal(type(array).__name__, text)


USED = (
    "the capsule was consumed already; each one is taken in once, so ask its producer for another"
)
KNOWN = "accepted are capsules named 'dltensor' and 'dltensor_versioned'"
CAPSULES = {
    "used": (b"used_dltensor", ValueError, USED),
    "used versioned": (b"used_dltensor_versioned", ValueError, USED),
    "another name": (b"dltensor2", TypeError, f"the capsule is named 'dltensor2'; {KNOWN}"),
    "no name": (None, TypeError, f"the capsule is named ''; {KNOWN}"),
}


@pytest.mark.parametrize("case", CAPSULES)
def test_T3_capsules_of_other_names(op, case):
    name, error, text = CAPSULES[case]
    producer = Producer()
    producer.name = name
    refused_by(op, Exporter(producer), error, text)
    assert producer.deleted == 0


def test_T3_a_capsule_that_is_given_twice_is_used_up(op):
    producer = Producer()

    class Again:
        capsule = producer.capsule()

        def __dlpack__(self, **arguments):
            return self.capsule

    again = Again()
    assert op.op(again) == [2, 3]
    refused_by(op, again, ValueError, USED)
    assert producer.deleted == 1


def test_T3_what_dlpack_gives_must_be_a_capsule(op):
    class Wrong:
        def __dlpack__(self, **arguments):
            return 42

    refused_by(op, Wrong(), TypeError, "__dlpack__ of Wrong gave a int where a capsule is expected")


def test_T3_exceptions_of_a_producer_come_out_as_themselves(op):
    class Breaks:
        def __dlpack__(self, **arguments):
            raise error

    for error in (ZeroDivisionError("on purpose"), TypeError("always"), KeyboardInterrupt()):
        with pytest.raises(type(error)) as caught:
            op.op(Breaks())
        assert caught.value is error
    error = BufferError("not this one")
    refused_by(op, Breaks(), ValueError, "its __dlpack__ raised BufferError: not this one")


# tables -----------------------------------------------------------------------------------


def kind_with(table, name=b"dlpack_exchange_api", **more):
    capsule = table_capsule(table, name) if isinstance(table, Table) else table
    kind = type("Tabled", (), {"__dlpack_c_exchange_api__": capsule, **more})
    kind.__init__ = Tabled.__init__
    kind.kept = table
    return kind


def test_T3_a_table_of_another_major_version_leads_to_an_older_one(op):
    newer = Table(Header(2, 0, ctypes.pointer(TABLE.header)), None, hand_out, None, None, None)
    assert op.op(kind_with(newer)(Producer(True))) == [2, 3]


def test_T3_a_table_without_our_version_is_none(op):
    alone = Table(Header(2, 0, None), None, hand_out, None, None, None)
    ring = Table(Header(3, 0, None), None, hand_out, None, None, None)
    ring.header.older = ctypes.pointer(ring.header)
    empty = Table(Header(1, 3, None), None, FromObject(), None, None, None)
    for table in (alone, ring, empty):
        with pytest.raises(TypeError, match="Expected a value of type 'Tensor'"):
            op.op(kind_with(table)(Producer(True)))
        # Then the other ways are open.
        kind = kind_with(table, __dlpack__=Exporter.__dlpack__)
        assert op.op(kind(Producer())) == [2, 3]


def test_T3_a_table_under_another_name_is_refused(op):
    for name, shown in ((b"dlpack_exchange", "dlpack_exchange"), (None, "")):
        refused_by(
            op,
            kind_with(TABLE, name)(Producer(True)),
            TypeError,
            f"__dlpack_c_exchange_api__ of the type Tabled is a capsule named '{shown}'; accepted "
            "is 'dlpack_exchange_api'",
        )


def test_T3_an_address_as_a_number_is_no_table(op):
    kind = kind_with(ctypes.addressof(TABLE))
    with pytest.raises(TypeError, match="Expected a value of type 'Tensor'"):
        op.op(kind(Producer(True)))


def test_T3_a_table_that_fails(op):
    array = import_arrays().Array([1.0])
    for fail, error, text in (
        ("quietly", ValueError, "its exchange table failed without an exception"),
        ("nothing", ValueError, "its exchange table gave no struct"),
        (BufferError("not now"), ValueError, "its exchange table raised BufferError: not now"),
    ):
        array.fail = fail
        with pytest.raises(error) as caught:
            op.op(array)
        assert str(caught.value) == refusal("opyard_test_arrays.Array", text)
    array.fail = error = ZeroDivisionError("on purpose")
    with pytest.raises(ZeroDivisionError) as caught:
        op.op(array)
    assert caught.value is error
    array.fail = None
    assert op.op(array) == [1]


# buffers ----------------------------------------------------------------------------------


def buffer(array):
    """With the buffer protocol only."""
    return memoryview(array)


def unaligned():
    return np.frombuffer(bytes(9), np.uint8)[1:].view(np.float32)


def refused_format(format):
    return (
        f"the elements have the format '{format}'; accepted are bool, int8 to int64, uint8 to "
        "uint64, float16 to float64 and complex numbers, so convert them first, as array.astype "
        "does"
    )


OTHER_ORDER = (
    "the elements are in another byte order than this machine's; convert them first, as "
    "array.astype(array.dtype.newbyteorder('=')) does"
)
BACKWARDS = (
    "the stride of dimension 0 is -4 bytes, and tensors on foreign memory have none below zero"
)
BETWEEN = "the stride of dimension 0 is 3 bytes, which is not a whole number of elements"
COPY = "; copy the array first, as array.copy() does"
BUFFERS = {
    "byte order": (lambda: np.zeros(2, ">f4"), OTHER_ORDER),
    "objects": (lambda: np.array([None]), refused_format("O")),
    "records": (lambda: np.zeros(2, [("a", "i4")]), refused_format("T{i:a:}")),
    "texts": (lambda: np.array(["ab"]), refused_format("2w")),
    "long double": (lambda: np.zeros(2, np.longdouble), refused_format("g")),
    "below zero": (lambda: np.zeros(3, np.float32)[::-1], BACKWARDS + COPY),
    "between elements": (lambda: np.zeros(3, [("a", "i1"), ("b", "i2")])["b"], BETWEEN + COPY),
    "unaligned": (unaligned, "the elements are not aligned to their 4 bytes in memory" + COPY),
}


@pytest.mark.parametrize("name", BUFFERS)
def test_T3_buffers(op, name):
    make, text = BUFFERS[name]
    refused_by(op, buffer(make()), ValueError, text)


def raised_by(array):
    """NumPy's versions have words of their own; ours follow them."""
    with pytest.raises(BufferError) as caught:
        array.__dlpack__()
    said = str(caught.value).removesuffix(".")
    return (
        f"its __dlpack__ raised BufferError: {said}. Its dtype is {array.dtype}, for which there "
        "is none here; convert it first, as array.astype(float) does"
    )


ARRAYS = {
    "byte order": (lambda: np.zeros(2, ">f4"), raised_by),
    "objects": (lambda: np.array([None]), raised_by),
    "records": (lambda: np.zeros(2, [("a", "i4")]), raised_by),
    "below zero": (lambda: np.zeros(3)[::-1], lambda array: below_zero(0, -1)),
}


@pytest.mark.parametrize("name", ARRAYS)
def test_T3_arrays_of_numpy(op, name):
    make, text = ARRAYS[name]
    with pytest.raises(ValueError) as caught:
        op.op(make())
    assert str(caught.value) == refusal("numpy.ndarray", text(make()))


def test_T3_arrays_and_buffers_leave_nothing_behind(op):
    things = [buffer(make()) for make, _ in BUFFERS.values()]
    things += [make() for make, _ in ARRAYS.values()]

    def step():
        for thing in things:
            with pytest.raises(ValueError):
                op.op(thing)

    assert not leaks(step)


def test_T3_good_arrays_leave_nothing_behind(op):
    aten = opyard.ops.aten
    made = [(of, of.make([1.0, 2.0]), of.make([0.0, 0.0])) for of in LIBRARIES]

    def step():
        for _, a, out in made:
            aten.add(a, a)
            aten.add_(out, a)
            aten.add.out(a, a, out=out)
            aten.cat([a, a])
            op.more(1, [None, a])
            aten.view(a, [2, 1])

    assert not leaks(step)


# several candidates -----------------------------------------------------------------------


def test_T3_where_an_operator_has_overloads_the_likeliest_says_why():
    with pytest.raises(TypeError) as caught:
        opyard.ops.aten.add(np.zeros(3)[::-1], 1)
    text = str(caught.value)
    assert text.startswith("aten::add() cannot take what was given for argument 'self', a value ")
    assert f"'numpy.ndarray': {below_zero(0, -1)}" in text
    assert text.endswith("failed to match any schema; the others are Scalar and out.")


def test_T3_a_result_that_is_refused_names_the_kernel(op, define):
    made = define("bad(Tensor x) -> Tensor", CPU=lambda x: np.zeros(3)[::-1])
    with pytest.raises(RuntimeError) as caught:
        made(np.zeros(2))
    text = str(caught.value)
    assert "returned a value of type 'numpy.ndarray' (" + below_zero(0, -1) in text
    assert "for result 0, but the schema says 'Tensor'." in text
