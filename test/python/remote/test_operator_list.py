"""test_operator_list.py: every operator on a worker, over pipes, beside this process.

Each call of aten and opyard that operators/operator_calls.py finds runs on a worker as well:
results have the same bits, and what is refused is refused in the same words. Suspect
remote/python/opyard/_remote/pickling.py, worker.py and failures.py; pyfallback/opyard/_tensor/
copying.py for how a tensor travels. `tools/test --long remote` tries more dtypes.
"""

import random
import sys
import warnings

import pytest
from built import ROOT
from processes import VOLUME

import opyard
import opyard.remote

sys.path.append(str(ROOT / "test/python/operators"))
from operator_calls import Call, call_of, numbers, overloads

pytestmark = pytest.mark.once

aten = opyard.ops.aten

BATCH = 64
SEED = 20261129
# What is in the memory of their results is of no one.
UNSET = {"empty", "empty_like", "empty_strided", "empty_permuted", "new_empty", "new_empty_strided"}
UNSET |= {"resize", "resize_", "resize_as", "resize_as_"}
# Of a process, and not of the arguments.
OWN = {"opyard::seed_random_numbers"}


@pytest.fixture(scope="module")
def calls():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [call_of(op) for op in overloads() if op.name() not in OWN]
    return [call for call in found if call is not None]


@pytest.fixture(scope="module")
def worker():
    """A session whose worker uses as many threads as this process: sums are of the same parts."""
    with opyard.remote.session("pipes", workers=1, threads=None, timeout=120.0) as made:
        yield made


def name_of(call):
    return call.op.name().partition("::")[2].partition(".")[0]


def bits(value, with_bytes=True):
    """What two equal results have in common, and two that are not do not."""
    if isinstance(value, opyard.Tensor):
        content = bytes(memoryview(value._bytes())) if with_bytes else b""
        return (type(value).__name__, str(value.dtype), str(value.device), value.shape, content)
    if isinstance(value, (list, tuple)):
        return (type(value).__name__, [bits(each, with_bytes) for each in value])
    return (type(value).__name__, repr(value))


def outcome(run, with_bytes):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            return bits(run(), with_bytes)
        except Exception as error:
            # A backend has its name where what brings it is loaded.
            return type(error), str(error).replace("lazy, remote and", "lazy and")


def fresh(call):
    """The same call on tensors of its own, since some calls write."""
    return call.changed(lambda x: x.clone())


def compare(session, calls):
    """How each call ended there and here, in batches; gives those that differ.

    Both sides begin each call with the same seed, so that what draws numbers draws the same.
    """
    different = []
    for start in range(0, len(calls), BATCH):
        batch, sent = calls[start : start + BATCH], []
        for call in batch:
            given = fresh(call)
            session.call_async(opyard.manual_seed, SEED)
            sent.append(session.call_async(given.op, *given.args, **given.kwargs))
        for call, future in zip(batch, sent, strict=True):
            with_bytes = name_of(call) not in UNSET
            opyard.manual_seed(SEED)
            here = outcome(fresh(call), with_bytes)
            there = outcome(future.wait, with_bytes)
            if here != there:
                different.append((call.op.name(), here, there))
    return different


def test_X45_each_operator_gives_the_same_bits_on_a_worker(worker, calls):
    assert len(calls) > 1000
    different = compare(worker, calls)
    assert not different, different[:5]


def spoilt(call, chance):
    """The call with an argument that it may not take: of another kind, shape, dtype or number."""
    places = [*range(len(call.args)), *call.kwargs]
    if not places:
        return Call(call.op, [*call.args, "more"], call.kwargs)
    place = chance.choice(places)
    value = call.kwargs[place] if isinstance(place, str) else call.args[place]
    if isinstance(value, opyard.Tensor):
        other = chance.choice([numbers([5, 7, 2]), numbers([3], opyard.int64), "text", None])
    elif isinstance(value, bool):
        other = "text"
    elif isinstance(value, int):
        other = chance.choice([-99, 10**6, 1 << 80, "text"])
    elif isinstance(value, list):
        other = chance.choice([[], ["text"], [-5] * 9])
    else:
        other = chance.choice([object, -99, [[1]]])
    if isinstance(place, str):
        return Call(call.op, call.args, {**call.kwargs, place: other})
    return Call(call.op, [*call.args[:place], other, *call.args[place + 1 :]], call.kwargs)


def test_X45_what_an_operator_refuses_here_it_refuses_there_in_the_same_words(worker, calls):
    chance = random.Random(SEED)
    bad = [spoilt(call, chance) for call in calls if name_of(call) not in UNSET]
    different = compare(worker, bad)
    assert not different, different[:5]


DTYPES = ("float64", "float16", "bfloat16", "complex64", "int64")[: None if VOLUME >= 10 else 2]


@pytest.mark.parametrize("name", DTYPES)
def test_other_dtypes_are_computed_or_refused_alike(worker, calls, name):
    dtype = getattr(opyard, name)

    def change(x):
        return aten.to(x, dtype) if x.dtype == opyard.float32 else x

    different = compare(worker, [call.changed(change) for call in calls])
    assert not different, different[:5]
