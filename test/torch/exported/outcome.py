"""One model: exported, saved, loaded here, run, and compared with PyTorch's."""

import copy
import json
import re
import time
from pathlib import Path

import torch
from exported.case import Call, Case
from exported.comparison import as_tensor, difference, flat
from exported.page import Outcome
from torch.utils import _pytree as pytree

ROUNDS = 5  # of runs that are timed, the least of which counts


def first_line(error: BaseException | str) -> str:
    """What the table has of an error: the operators that are missing, or the first line."""
    text = str(error)
    missing = sorted(set(re.findall(r"torch\.ops\.(\w+\.\w+\.\w+), \d+ time", text)))
    if missing:
        return ", ".join(f"`{one}`" for one in missing)
    lines = [line for line in text.strip().splitlines() if line] or [type(error).__name__]
    if " cannot run here: " in lines[0] and len(lines) > 1:
        lines = [re.sub(r", first at .*?: ", ": ", lines[1].strip())]
    plain = re.sub(r"/tmp/\S*/|0x[0-9a-f]+", "", lines[0])
    return plain[:140].strip().replace("|", "/")


# ---- what a program needs


def inner_graphs(module: torch.fx.GraphModule):
    yield module
    for _, inner in module.named_children():
        if isinstance(inner, torch.fx.GraphModule):
            yield from inner_graphs(inner)


def needs_of(program: torch.export.ExportedProgram) -> str:
    """How many overloads, and what is not plain: sizes that vary, control flow, writes, dtypes."""
    called, kinds = set(), set()
    for graph in inner_graphs(program.graph_module):
        for node in graph.graph.nodes:
            value = node.meta.get("val")
            if isinstance(value, torch.Tensor):
                kinds.add(str(value.dtype).removeprefix("torch."))
            if node.op == "call_function":
                called.add(node.target)
    overloads = {one for one in called if isinstance(one, torch._ops.OpOverload)}
    writes = any(one._schema.is_mutable and one.name() != "aten::detach_" for one in overloads)
    flow = {one.name() for one in called if isinstance(one, torch._ops.HigherOrderOperator)}
    flow -= {"wrap_with_set_grad_enabled", "wrap_with_autocast"}
    found = [f"{len(overloads)} operators"]
    if program.range_constraints:
        found.append("sizes that vary")
    found += sorted(flow)
    if writes:
        found.append("writes")
    found += sorted(kinds - {"float32", "int64", "bool"})
    return ", ".join(found)


# ---- PyTorch's half


def as_copy(value: object) -> object:
    return pytree.tree_map(lambda one: one.clone() if isinstance(one, torch.Tensor) else one, value)


def run_calls(run, calls: tuple[Call, ...]) -> list:
    """Outputs of each call, and its inputs, which it may write."""
    found = []
    for args, kwargs in calls:
        args, kwargs = as_copy((args, kwargs))
        found.append((run(*args, **kwargs), tensors_of((args, kwargs))))
    return found


def tensors_of(value: object) -> list[torch.Tensor]:
    return [one for one in pytree.tree_leaves(value) if isinstance(one, torch.Tensor)]


def as_plain(value: object) -> object:
    """Lists of tensors and numbers in the place of classes."""
    return [one for one in pytree.tree_leaves(value) if one is not None]


def made(source, name: str) -> Case:
    torch.manual_seed(0)
    return source.make(name)


def export(source, name: str, folder: Path, outcome: Outcome) -> None:
    """Writes model.pt2, calls.pt and needs.json, or says in the outcome why not."""
    with torch.no_grad():
        case = made(source, name)
        module = case.module
        try:
            reference = copy.deepcopy(module)
        except Exception:
            reference = made(source, name).module
        wanted = [(as_plain(given), after) for given, after in run_calls(reference, case.calls())]
        args, kwargs = as_copy((case.args, case.kwargs))
        try:
            program = torch.export.export(module, args, kwargs, dynamic_shapes=case.dynamic)
        except Exception as error:
            outcome.result, outcome.reason = "not exported", first_line(error)
            return
    try:
        torch.export.save(program, folder / "model.pt2")
    except Exception as error:
        outcome.result, outcome.reason = "not saved", first_line(error)
        return
    calls = as_copy(case.calls())
    torch.save({"calls": calls, "wanted": wanted, "tolerance": case.tolerance}, folder / "calls.pt")
    outcome.needs = needs_of(program)


# ---- ours


def ratio_of(ours, theirs) -> float:
    """The least time of one over the least of the other, which take turns."""
    least = [float("inf")] * 2
    for _ in range(ROUNDS):
        for at, run in enumerate((ours, theirs)):
            began = time.perf_counter()
            run()
            least[at] = min(least[at], time.perf_counter() - began)
    return least[0] / least[1]


def run_here(source, name: str, folder: Path, outcome: Outcome, timed: bool) -> None:
    import opyard

    opyard.set_num_threads(1)
    try:
        model = opyard.jit.load(folder / "model.pt2")
    except Exception as error:
        outcome.result, outcome.reason = "refused", first_line(error)
        return
    known = torch.load(folder / "calls.pt", weights_only=False)
    try:
        given = run_calls(model, known["calls"])
    except Exception as error:
        outcome.result, outcome.reason = "raises", first_line(error)
        return
    wanted = known["wanted"]
    far = difference(flat(given), flat(wanted))
    if far > known["tolerance"]:
        theirs = [as_tensor(one) for one in flat(wanted)]
        ours = [as_tensor(one) for one in flat(given)]
        kinds = [f"{tuple(one.shape)} {one.dtype}" for one in ours]
        other = [f"{tuple(one.shape)} {one.dtype}" for one in theirs]
        outcome.result = "differs"
        outcome.reason = f"by {far:.0e}" if kinds == other else "in sizes or dtypes"
    elif timed:
        args, kwargs = as_copy(known["calls"][0])
        case = made(source, name)
        with torch.no_grad():
            ratio = ratio_of(lambda: model(*args, **kwargs), lambda: case.module(*args, **kwargs))
            outcome.ratio = f"{ratio:.2f}"


def outcome_of(source, name: str, folder: Path, timed: bool) -> Outcome:
    """Exports unless the folder has it; see exported.page."""
    torch.set_num_threads(1)
    outcome = Outcome(source.SOURCE, name)
    said = folder / "outcome.json"
    if said.exists():
        outcome = Outcome(**json.loads(said.read_text()))
    else:
        try:
            export(source, name, folder, outcome)
        except Exception as error:
            outcome.result, outcome.reason = "not exported", first_line(error)
        said.write_text(json.dumps(vars(outcome)))
    if outcome.result == "agrees":
        run_here(source, name, folder, outcome, timed)
    return outcome
