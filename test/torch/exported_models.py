"""Table of models that torch.export writes: which load here, run, and agree, and how fast.

    tools/models > docs/dev/exported_models.md        (makes build/venv-models)
    tools/models --short                              one architecture a family, no times

The architectures are those of torchvision, with random weights, since none are downloaded, and the
examples of torch.export's own database. A program for machines with PyTorch, no suite. With
--short the status is 1 if one more is refused than the page says.
"""

import argparse
import inspect
import io
import logging
import re
import sys
import tempfile
import time
import warnings
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch._export.db.case import ExportCase
from torch._export.db.examples import all_examples

import opyard

try:
    import torchvision
except RuntimeError:  # its library is for another build of PyTorch; architectures do without
    DEFINED = torch.library.Library("torchvision", "DEF")
    for nms in ("nms", "qnms"):
        DEFINED.define(f"{nms}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    for name in [one for one in sys.modules if one.startswith("torchvision")]:
        del sys.modules[name]
    import torchvision

HUGE = ("vit_h_14", "regnet_y_128gf")  # gigabytes of weights
SIZES = {"inception_v3": 299}
FAMILIES = re.compile(r"_?v?\d.*|_(tiny|small|base|large|b|s|t)\b.*")
TOLERANCE = 1e-4  # of the largest output


@dataclass
class Outcome:
    source: str
    name: str
    result: str = "agrees"
    reason: str = ""
    ratio: float | None = None


def flat(value) -> list:
    """The tensors and numbers of a result, in order."""
    if isinstance(value, dict):
        return [one for each in value.values() for one in flat(each)]
    if isinstance(value, list | tuple):
        return [one for each in value for one in flat(each)]
    return [] if value is None else [value]


def difference(given, wanted) -> float:
    """The largest, over the largest element; infinite where kinds, dtypes or sizes differ."""
    worst = 0.0
    ours, theirs = flat(given), flat(wanted)
    if len(ours) != len(theirs):
        return float("inf")
    for one, other in zip(ours, theirs, strict=True):
        a = np.asarray(one.detach() if hasattr(one, "detach") else one)
        b = np.asarray(other.detach().numpy() if isinstance(other, torch.Tensor) else other)
        if a.shape != b.shape or a.dtype != b.dtype:
            return float("inf")
        if not b.size:
            continue
        if b.dtype.kind not in "fc":
            worst = max(worst, 0.0 if (a == b).all() else float("inf"))
        elif not (np.isnan(a) == np.isnan(b)).all():
            return float("inf")
        else:
            scale = max(float(np.nanmax(np.abs(b))), 1e-6)
            worst = max(worst, float(np.nanmax(np.abs(a - b))) / scale)
    return worst


def as_ours(value):
    if isinstance(value, torch.Tensor):
        return opyard.from_numpy(value.detach().numpy().copy())
    if isinstance(value, dict):
        return {key: as_ours(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(as_ours(one) for one in value)
    return value


def first_line(error: BaseException) -> str:
    """What a table has of a refusal: the operators that are missing, or the first line."""
    text = str(error)
    missing = sorted(set(re.findall(r"torch\.ops\.(\w+\.\w+\.\w+)", text)))
    if missing:
        return ", ".join(f"`{one}`" for one in missing)
    lines = text.strip().splitlines() or [type(error).__name__]
    return lines[0][:160].replace("|", "\\|")


def least(run, rounds: int) -> float:
    best = float("inf")
    for _ in range(rounds):
        began = time.perf_counter()
        run()
        best = min(best, time.perf_counter() - began)
    return best


def outcome_of(source, name, module, args, kwargs, dynamic, timed) -> Outcome:
    outcome = Outcome(source, name)
    try:
        with torch.no_grad():
            program = torch.export.export(module, args, kwargs, dynamic_shapes=dynamic)
    except Exception as error:
        outcome.result, outcome.reason = "not exported", first_line(error)
        return outcome
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.pt2"
        try:
            torch.export.save(program, path)
        except Exception as error:
            outcome.result, outcome.reason = "not saved", first_line(error)
            return outcome
        try:
            model = opyard.jit.load(path)
        except Exception as error:
            outcome.result, outcome.reason = "refused", first_line(error)
            return outcome
    ours = as_ours(args), as_ours(kwargs)
    try:
        given = model(*ours[0], **ours[1])
    except Exception as error:
        outcome.result, outcome.reason = "raises", first_line(error)
        return outcome
    with torch.no_grad():
        wanted = program.module()(*args, **kwargs)
        far = difference(given, wanted)
        if far > TOLERANCE:
            outcome.result, outcome.reason = "differs", f"by {far:.1e}"
        elif timed:
            one = least(lambda: model(*ours[0], **ours[1]), 3)
            outcome.ratio = one / least(lambda: module(*args, **kwargs), 3)
    return outcome


def of_torchvision(short: bool):
    seen = set()
    for name in torchvision.models.list_models():
        if name in HUGE or name.startswith("quantized_"):
            continue
        family = FAMILIES.sub("", name)
        if short and family in seen:
            continue
        seen.add(family)
        torch.manual_seed(0)
        try:
            module = torchvision.models.get_model(name, weights=None, weights_backbone=None)
        except TypeError:
            module = torchvision.models.get_model(name, weights=None)
        module = module.eval()
        size = SIZES.get(name, 224)
        kind = module.__module__
        if ".video." in kind:
            wide = any(one in name for one in ("mvit", "swin", "s3d"))
            given = (torch.randn(1, 3, 16 if wide else 8, *([224 if wide else 112] * 2)),)
        elif ".optical_flow." in kind:
            given = (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128))
        elif ".detection." in kind:
            given = ([torch.rand(3, size, size)],)
        else:
            given = (torch.randn(1, 3, size, size),)
        yield "torchvision", name, module, given, {}, None


def of_database():
    for name, case in sorted(all_examples().items()):
        assert isinstance(case, ExportCase)
        model = case.model
        module = model if isinstance(model, torch.nn.Module) else None
        if module is None:
            continue
        yield (
            "torch.export",
            name,
            module,
            case.example_args,
            case.example_kwargs or {},
            (case.dynamic_shapes or None),
        )


def page_of(outcomes: list[Outcome]) -> str:
    out = io.StringIO()
    exported = [one for one in outcomes if not one.result.startswith("not ")]
    agree = [one for one in exported if one.result == "agrees"]
    known = [one.ratio for one in agree if one.ratio is not None]
    of_torch, of_vision = (one.__version__.split("+")[0] for one in (torch, torchvision))
    print("# Exported models\n", file=out)
    print(
        f"Made by `tools/models` with PyTorch {of_torch} and torchvision {of_vision}, with random "
        f"weights: of {len(exported)} models that "
        f"PyTorch exports, {len(agree)} load here, run and agree to {TOLERANCE:g} of the largest "
        "output. The last column is the time of a run on one thread over that of PyTorch's eager "
        "mode, the least of three; below 1 is faster.\n",
        file=out,
    )
    print("| model | from | result | reason | over PyTorch |", file=out)
    print("| --- | --- | --- | --- | --- |", file=out)
    order = ("differs", "raises", "refused", "not saved", "not exported", "agrees")
    for one in sorted(
        outcomes, key=lambda each: (order.index(each.result), each.source, each.name)
    ):
        ratio = "" if one.ratio is None else f"{one.ratio:.2f}"
        print(f"| {one.name} | {one.source} | {one.result} | {one.reason} | {ratio} |", file=out)
    if known:
        mean = np.exp(np.mean(np.log(known)))
        print(f"\nThe geometric mean of the last column is {mean:.2f}.", file=out)
    return out.getvalue()


def main() -> None:
    parser = argparse.ArgumentParser(prog="tools/models", description=inspect.getdoc(outcome_of))
    parser.add_argument("--short", action="store_true", help="one architecture a family, no times")
    parser.add_argument("--only", default="", help="models whose name has this in it")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    logging.disable(logging.WARNING)
    torch.set_num_threads(1)
    opyard.set_num_threads(1)
    outcomes = []
    for given in (*of_torchvision(options.short), *of_database()):
        if options.only not in given[1]:
            continue
        outcomes.append(outcome_of(*given, timed=not options.short and given[0] == "torchvision"))
        one = outcomes[-1]
        line = f"{one.source} {one.name}: {one.result} {one.reason} {one.ratio or ''}"
        print(line, file=sys.stderr, flush=True)
    print(page_of(outcomes), end="")
    known = ("agrees", "not exported", "not saved")
    if options.short and any(one.result not in known for one in outcomes):
        raise SystemExit(1)


if __name__ == "__main__":
    main()
