"""test_operators_on_workers.py: every operator on tensors of a worker, and as it is here (X35).

Suspect remote/src if all operators of a kind fail; one operator alone has a kernel at Meta that
says something else than its kernel for the CPU.
"""

import warnings

import pytest
from operator_calls import call_of, overloads

import opyard
import opyard.remote

pytestmark = pytest.mark.once

aten = opyard.ops.aten
ALL = list(overloads())
DEVICE = "remote:0"
# Compositions without a derivative that look at elements, or make tensors, by other means than
# operators; and what changes sizes. They say so.
REFUSED = {f"aten::{name}" for name in (
    "_embedding_bag_backward", "_embedding_bag_per_sample_weights_backward", "combinations",
    "linspace", "logspace", "randint.low_generator", "resize_", "resize_as_",
)} | {"opyard::prod_backward"}  # fmt: skip
# They give memory as it was found.
UNEQUAL = {"aten::empty_like", "aten::new_empty", "aten::new_empty_strided", "aten::empty_strided",
           "aten::empty.memory_format"}  # fmt: skip


@pytest.fixture(scope="module")
def session():
    with opyard.remote.session(workers=1, timeout=60.0) as made:
        yield made


def is_random(op):
    return op.name() in UNEQUAL or opyard.Tag.nondeterministic_seeded in op.tags


def on(device, call):
    """The call with tensors of a device, and with that as its device."""
    moved = call.changed(lambda tensor: tensor.detach().clone().to(device))
    if moved.kwargs.get("device") is None:
        return moved
    return moved._replace(kwargs={**moved.kwargs, "device": device})


def text_of(value, exact=True):
    """Sizes, dtype, and elements of what a call gave, also in lists."""
    if isinstance(value, opyard.Tensor):
        there = value.detach().to("cpu")
        numbers = there.tolist() if exact else None
        return (tuple(value.shape), value.dtype, repr(numbers))
    if isinstance(value, (list, tuple)):
        return [text_of(each, exact) for each in value]
    return repr(value) if exact else type(value).__name__


def outcome(call, exact=True):
    try:
        result = call()
        return ("gives", text_of(result, exact), [text_of(t, exact) for _, t in call.tensors()])
    except opyard.remote.WorkerLost:
        raise
    except Exception as error:
        return ("raises", type(error))


@pytest.mark.parametrize("op", ALL, ids=lambda op: op.name())
def test_X35_operators_give_the_same_on_a_worker(session, op):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        call = call_of(op)
        if call is None:
            pytest.skip("no call of it is known")
        exact = not is_random(op)
        here = outcome(on("cpu", call), exact)
        if op.name() in REFUSED:
            with pytest.raises(NotImplementedError, match="cpu"):
                on(DEVICE, call)()
            return
        assert outcome(on(DEVICE, call), exact) == here
