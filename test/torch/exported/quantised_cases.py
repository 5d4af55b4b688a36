"""Networks that were quantised by pt2e: int8 linear layers and convolutions."""

import torch
import torchao
from exported.case import Case
from torch import nn
from torchao.quantization.pt2e.quantize_pt2e import convert_pt2e, prepare_pt2e
from torchao.quantization.pt2e.quantizer import x86_inductor_quantizer as x86
from torchao.testing.pt2e import _xnnpack_quantizer as xnnpack

SOURCE = "pt2e"
VERSION = torchao.__version__


def quantised(module: nn.Module, args: tuple, quantizer) -> Case:
    """Observed once, on its example; weights and activations become int8."""
    prepared = prepare_pt2e(torch.export.export(module.eval(), args).module(), quantizer)
    prepared(*args)
    converted = convert_pt2e(prepared)
    return Case(converted, args, tolerance=2e-2)  # one step of an activation


def by_x86(module: nn.Module, args: tuple, **options) -> Case:
    config = x86.get_default_x86_inductor_quantization_config(**options)
    return quantised(module, args, x86.X86InductorQuantizer().set_global(config))


def by_xnnpack(module: nn.Module, args: tuple, **options) -> Case:
    config = xnnpack.get_symmetric_quantization_config(**options)
    return quantised(module, args, xnnpack.XNNPACKQuantizer().set_global(config))


def layers() -> tuple[nn.Module, tuple]:
    return nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4)), (torch.randn(3, 8),)


def convolutions() -> tuple[nn.Module, tuple]:
    first = nn.Sequential(nn.Conv2d(3, 8, 3, 2, 1), nn.BatchNorm2d(8), nn.ReLU())
    last = nn.Sequential(nn.Conv2d(8, 8, 3, groups=8), nn.AdaptiveAvgPool2d(1), nn.Flatten())
    return nn.Sequential(first, last, nn.Linear(8, 4)), (torch.randn(2, 3, 16, 16),)


CASES = {
    "linear_x86": lambda: by_x86(*layers()),
    "linear_x86_dynamic": lambda: by_x86(*layers(), is_dynamic=True),
    "linear_xnnpack": lambda: by_xnnpack(*layers()),
    "linear_xnnpack_channels": lambda: by_xnnpack(*layers(), is_per_channel=True),
    "linear_xnnpack_dynamic": lambda: by_xnnpack(*layers(), is_per_channel=True, is_dynamic=True),
    "convolution_x86": lambda: by_x86(*convolutions()),
    "convolution_xnnpack": lambda: by_xnnpack(*convolutions(), is_per_channel=True),
}
SHORT = ()


def names() -> list[str]:
    return list(CASES)


def make(name: str) -> Case:
    return CASES[name]()
