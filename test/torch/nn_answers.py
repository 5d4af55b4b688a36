"""PyTorch's answers for nn_cases.txt, schedule_cases.txt and optim_cases.txt of test/python.

    python test/torch/nn_answers.py

Needs PyTorch. A line says a layer and what it is called with; its answers are one sum each of the
outputs, the gradients of inputs, those of parameters, and the buffers, while the layer trains, and
one of the outputs in eval().
"""

import sys
import warnings
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "test/python"))

import torch  # noqa: E402
from nn_cases import TABLE, Case, Schedule, Torch, digest  # noqa: E402
from optim_cases import TABLE as OPTIMIZERS  # noqa: E402
from optim_cases import Library, OptimCase  # noqa: E402


def main():
    warnings.simplefilter("ignore")
    lines = []
    for line in TABLE.read_text().splitlines():
        if not line or line[0] == "#":
            lines.append(line)
            continue
        case = Case(line)
        runs, _ = case.run(Torch())
        answers = ", ".join(f"{answer:.8g}" for answer in digest(runs))
        own = "~" if case.only_eval else ""
        lines.append(f"{own}{case.layer} | {case.given} | {answers}")
    TABLE.write_text("\n".join(lines) + "\n")
    table, lines = TABLE.with_name("schedule_cases.txt"), []
    for line in table.read_text().splitlines():
        if line and line[0] != "#":
            schedule = Schedule(line)
            answer = schedule.digest(schedule.torch_rates(torch))
            line = f"{schedule.text} | {schedule.said} | {answer:.12g}"
        lines.append(line)
    table.write_text("\n".join(lines) + "\n")
    write_optimizers()


def write_optimizers():
    lines = []
    for line in OPTIMIZERS.read_text().splitlines():
        if line and line[0] != "#":
            case = OptimCase(line)
            answers, _ = case.run(Library(torch))
            said = ", ".join(f"{answer:.16g}" for answer in answers)
            line = f"{case.text} | {case.steps} | {said}"
        lines.append(line)
    OPTIMIZERS.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
