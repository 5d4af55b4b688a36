"""Modules: layers with parameters, put together to what is trained by opyard.optim.

    model = opyard.nn.Sequential(
        opyard.nn.Linear(64, 128), opyard.nn.ReLU(), opyard.nn.Linear(128, 10)
    )
    loss = opyard.nn.CrossEntropyLoss()(model(x), labels)
    loss.backward()

Layers and losses take arrays of NumPy and other libraries as Tensors on the same memory, and give
Tensors. A class of your own derives from Module and defines forward(). Names, defaults and the
names in a state are PyTorch's. See docs/guides/training.md.
"""

from ._core import late as _late
from ._nn.activations import ELU, GELU, LeakyReLU, LogSoftmax, ReLU, Sigmoid, SiLU, Softmax, Tanh
from ._nn.attention import MultiheadAttention
from ._nn.containers import ModuleList, Sequential
from ._nn.convolution import Conv2d
from ._nn.dropout import Dropout
from ._nn.embedding import Embedding
from ._nn.linear import Flatten, Identity, Linear
from ._nn.losses import BCEWithLogitsLoss, CrossEntropyLoss, L1Loss, MSELoss, NLLLoss
from ._nn.module import Module
from ._nn.normalization import BatchNorm2d, LayerNorm
from ._nn.parameter import Parameter
from ._nn.pooling import (
    AdaptiveAvgPool1d,
    AdaptiveAvgPool2d,
    AdaptiveAvgPool3d,
    AdaptiveMaxPool1d,
    AdaptiveMaxPool2d,
    AdaptiveMaxPool3d,
    AvgPool1d,
    AvgPool2d,
    AvgPool3d,
    MaxPool1d,
    MaxPool2d,
    MaxPool3d,
)

__all__ = [
    "ELU",
    "GELU",
    "AdaptiveAvgPool1d",
    "AdaptiveAvgPool2d",
    "AdaptiveAvgPool3d",
    "AdaptiveMaxPool1d",
    "AdaptiveMaxPool2d",
    "AdaptiveMaxPool3d",
    "AvgPool1d",
    "AvgPool2d",
    "AvgPool3d",
    "BCEWithLogitsLoss",
    "BatchNorm2d",
    "Conv2d",
    "CrossEntropyLoss",
    "Dropout",
    "Embedding",
    "Flatten",
    "Identity",
    "L1Loss",
    "LayerNorm",
    "LeakyReLU",
    "Linear",
    "LogSoftmax",
    "MSELoss",
    "MaxPool1d",
    "MaxPool2d",
    "MaxPool3d",
    "Module",
    "ModuleList",
    "MultiheadAttention",
    "NLLLoss",
    "Parameter",
    "ReLU",
    "Sequential",
    "SiLU",
    "Sigmoid",
    "Softmax",
    "Tanh",
]


def __dir__() -> list[str]:
    return _late.names(globals())
