"""PyTorch's own database of programs that torch.export takes."""

import torch
from exported.case import Case
from torch._export.db.examples import all_examples

SOURCE = "torch.export"
VERSION = torch.__version__
SHORT = ("cond_predicate", "dynamic_shape_map", "model_attr_mutation", "user_input_mutation")


def names() -> list[str]:
    found = all_examples().items()
    return [name for name, case in found if isinstance(case.model, torch.nn.Module)]


def make(name: str) -> Case:
    case = all_examples()[name]
    kwargs = case.example_kwargs or {}
    more = ((case.extra_args, {}),) if case.extra_args else ()
    return Case(case.model, case.example_args, kwargs, case.dynamic_shapes or None, more)
