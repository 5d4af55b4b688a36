"""Backward functions in profiles.

Suspect profiler/src/capture/functions.cpp, autograd/src/tape/engine.cpp, opyard/_profile/events.py.
"""

import json
import struct
import threading

import pytest
from leaves import leaf

import opyard
from opyard import autograd
from opyard.profiler import RecordScope, profile, record_function


def backwards_of(prof):
    return [event for event in prof.events() if event.kind == "Backward"]


def trained(x):
    with profile(with_stack=False) as prof:
        (x * x).sum().backward()
    return prof


def test_I35_functions_are_in_the_profile_around_their_operators():
    prof = trained(leaf([1, 2]))
    assert [event.name for event in backwards_of(prof)] == [
        "SumBackward",
        "MulBackward",
        "AccumulateGrad",
    ]
    mul = backwards_of(prof)[1]
    inner = [child.name for one in mul.children for child in one.children]
    assert "aten::mul.Tensor" in [*inner, *(child.name for child in mul.children)]
    rows = {row.key: row.count for row in prof.key_averages() if row.kind == "Backward"}
    assert rows["MulBackward"] == 1


def test_I35_spans_have_the_scopes_of_calls_backwards_and_ranges():
    x = leaf([1, 2])
    with profile(with_stack=False) as prof:
        with record_function("forward"):
            y = (x * x).sum()
        y.backward()
    scopes = {event.name: event.scope for event in prof.events()}
    assert scopes["forward"] is RecordScope.USER_SCOPE
    assert scopes["aten::mul.Tensor"] is scopes["aten::sum"] is RecordScope.FUNCTION
    of_backwards = {name for name, scope in scopes.items() if scope == 1}
    assert of_backwards == {"SumBackward", "MulBackward", "AccumulateGrad"}
    instructions = {e.scope.name for e in prof.events() if e.kind == "Instruction"}
    assert instructions == {"TORCHSCRIPT_FUNCTION"}  # of formulas


def test_I36_functions_have_the_sequence_numbers_of_the_graph():
    x = leaf([1, 2])
    with profile(with_stack=False) as prof:
        y = x * x
        z = y.sum()
        numbers = [z.grad_fn.sequence_nr, y.grad_fn.sequence_nr, -1]
        z.backward()
    assert [event.sequence_number for event in backwards_of(prof)] == numbers
    with profile(with_stack=False) as other:
        opyard.tensor([1.0]) * 2
    assert {event.sequence_number for event in other.events()} == {-1}


def test_I35_a_function_that_raises_ends_its_span():
    class Fails(autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 1

        @staticmethod
        def backward(ctx, grad):
            raise ZeroDivisionError

    with profile(with_stack=False) as prof, pytest.raises(ZeroDivisionError):
        Fails.apply(leaf([1])).backward()
    (event,) = [event for event in backwards_of(prof) if event.name == "FailsBackward"]
    assert event.cuts == []


def test_I46_a_call_has_the_number_of_the_function_that_it_made_and_is_linked_to_it(tmp_path):
    x = leaf([1, 2])
    with profile(with_stack=False) as prof:
        y = x * x
        unused = y * 3.0
        number = y.grad_fn.sequence_nr
        y.sum().backward()
    (call, _, _) = [event for event in prof.events() if event.name.startswith("aten::mul")][:3]
    assert (call.kind, call.sequence_number) == ("Operator", number)
    (run,) = [event for event in backwards_of(prof) if event.name == "MulBackward"]
    assert run.sequence_number == number

    prof.export(tmp_path / "x.json")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    spans = [event for event in events if event["ph"] == "X"]
    flows = [event for event in events if event.get("cat") == "fwdbwd"]
    ends = {}
    for flow in flows:
        ends.setdefault(flow["id"], []).append(flow)
    assert len(ends) == 2  # of `mul` and `sum`; nothing has run that of `unused`
    names = []
    for begin, end in ends.values():
        assert (begin["ph"], end["ph"], end["bp"]) == ("s", "f", "e")
        both = []
        for flow in (begin, end):
            both += [
                span
                for span in spans
                if (span["ts"], span["tid"]) == (flow["ts"], flow["tid"])
                and "Sequence number" in span["args"]
            ]
        (called, ran) = both
        assert called["args"]["Sequence number"] == ran["args"]["Sequence number"]
        names.append((called["name"], ran["name"]))
    assert sorted(names) == [("aten::mul.Tensor", "MulBackward"), ("aten::sum", "SumBackward")]
    assert unused.grad_fn is not None

    prof.export(tmp_path / "x.pftrace")
    exported = (tmp_path / "x.pftrace").read_bytes()
    for link in ends:
        for field in (47, 48):
            head = struct.pack("<BBQ", (field << 3 | 1) & 0x7F | 0x80, field >> 4, link)
            assert exported.count(head) == 1


def test_I46_a_function_that_a_backward_makes_is_linked_to_the_call_inside_of_it():
    x = leaf([2, 3])
    with profile(with_stack=False) as prof:
        (first,) = autograd.grad((x * x).sum(), [x], create_graph=True)
        number = first.grad_fn.sequence_nr
        first.sum().backward()
    made = [event for event in prof.events() if event.sequence_number == number]
    assert {event.kind for event in made} == {"Operator", "Backward"}
    (run,) = [event for event in made if event.kind == "Backward"]
    assert run.name == first.grad_fn.name()


def test_I16_I17_modules_and_optimizers_have_facts_of_their_tensors():
    model = opyard.nn.Linear(4, 2, bias=False)
    optimizer = opyard.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)

    def step():
        model(opyard.ones(1, 4)).sum().backward()
        optimizer.step()

    step()
    with profile() as prof:
        step()
    (layer,) = [one for one in prof.events() if one.kind == "Module"]
    (steps,) = [one for one in prof.events() if one.kind == "Optimizer"]
    facts = {
        "shape": [2, 4],
        "dtype": "opyard.float32",
        "device": "cpu",
        "layout": "opyard.Layout.strided",
    }
    assert (layer.name, steps.name) == ("nn.Module: Linear_0", "Optimizer: SGD_0")
    assert layer.extra_fields["parameters"] == [{"name": "weight", **facts, "grad": facts}]
    assert steps.extra_fields["parameters"] == [
        {**facts, "grad": facts, "state": {"momentum_buffer": facts}}
    ]


def test_I17_of_the_state_of_an_optimizer_tensors_under_texts_are_kept_alone():
    model = opyard.nn.Linear(4, 2, bias=False)
    optimizer = opyard.optim.Adam(model.parameters(), lr=0.1)

    def step():
        model(opyard.ones(1, 4)).sum().backward()
        optimizer.step()

    step()
    state = optimizer.state[model.weight]
    assert not hasattr(state["step"], "dtype")
    state[3] = opyard.ones(2)
    state["note"] = "no tensor"
    with profile() as prof:
        step()
    (steps,) = [one for one in prof.events() if one.kind == "Optimizer"]
    assert (steps.name, steps.extra_fields["cls_name"].rpartition(".")[2]) == (
        "Optimizer: Adam_0",
        "Adam",
    )
    (parameter,) = steps.extra_fields["parameters"]
    assert parameter["state"].keys() == {"exp_avg", "exp_avg_sq"}
    assert parameter["state"]["exp_avg"]["shape"] == [2, 4]


def test_I46_equal_numbers_of_two_threads_are_linked_within_their_thread(tmp_path):
    both = threading.Barrier(2)
    numbers = []

    def train():
        x = leaf([1, 2])
        both.wait()
        y = x * x
        numbers.append(y.grad_fn.sequence_nr)
        both.wait()  # both calls are over before the first of them is run backward
        y.backward(opyard.ones(2))
        both.wait()

    with profile(with_stack=False) as prof:
        threads = [threading.Thread(target=train) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert numbers == [numbers[0]] * 2

    prof.export(tmp_path / "x.json")
    events = json.loads((tmp_path / "x.json").read_text())["traceEvents"]
    flows = [event for event in events if event.get("cat") == "fwdbwd"]
    spans = {
        (event["ts"], event["tid"]): event["name"]
        for event in events
        if event["ph"] == "X" and "Sequence number" in event["args"]
    }
    links = {}
    for flow in flows:
        links.setdefault(flow["id"], []).append((flow["ts"], flow["tid"]))
    assert [[spans[end] for end in ends] for ends in links.values()] == [
        ["aten::mul.Tensor", "MulBackward"]
    ] * 2
    tids = [{tid for _, tid in ends} for ends in links.values()]
    assert sorted(map(len, tids)) == [1, 1] and tids[0] != tids[1]
