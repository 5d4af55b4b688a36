"""test/bench/networks.py: networks that models are measured with; none has weights to download.

NETWORKS gives, for each name, a function that makes the module, and one that makes its inputs.
"""

import itertools
from collections.abc import Callable

import torch
from model_rows import Block, Residual, resnet18
from torch import nn
from torch.nn import functional

Made = tuple[Callable[[], nn.Module], Callable[[], tuple[torch.Tensor, ...]]]


def layers(*widths: int) -> nn.Module:
    made: list[nn.Module] = []
    for inputs, outputs in itertools.pairwise(widths):
        made += [nn.Linear(inputs, outputs), nn.ReLU()]
    return nn.Sequential(*made[:-1])


def conv_net() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 32, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(32, 64, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2)),
        *(nn.Conv2d(64, 64, 3, 2, 1), nn.ReLU(), nn.Flatten(), nn.Linear(64 * 64, 10)),
    )


def separable(inputs: int, outputs: int, stride: int = 1) -> list[nn.Module]:
    return [
        *(nn.Conv2d(inputs, inputs, 3, stride, 1, groups=inputs, bias=False),),
        *(nn.BatchNorm2d(inputs), nn.ReLU(), nn.Conv2d(inputs, outputs, 1, bias=False)),
        *(nn.BatchNorm2d(outputs), nn.ReLU()),
    ]


def separable_net() -> nn.Module:
    return nn.Sequential(
        *(nn.Conv2d(3, 32, 3, 2, 1, bias=False), nn.BatchNorm2d(32), nn.ReLU()),
        *separable(32, 64),
        *separable(64, 128, 2),
        *separable(128, 128),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(128, 10)),
    )


class Squeeze(nn.Module):
    """Channels that are weighted by what all of the picture has of them."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        inner = max(8, channels // 4)
        self.down, self.up = nn.Conv2d(channels, inner, 1), nn.Conv2d(inner, channels, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        all_of_it = functional.adaptive_avg_pool2d(x, 1)
        return x * functional.hardsigmoid(self.up(functional.relu(self.down(all_of_it))))


class Inverted(nn.Module):
    """A block of MobileNetV3: wide in the middle, where each channel is convolved alone."""

    def __init__(self, inputs: int, wide: int, outputs: int, *how: object) -> None:
        super().__init__()
        kernel, squeezes, activation, stride = how
        self.adds = stride == 1 and inputs == outputs
        parts: list[nn.Module] = []
        if wide != inputs:
            parts += [nn.Conv2d(inputs, wide, 1, bias=False), nn.BatchNorm2d(wide), activation()]
        depthwise = nn.Conv2d(wide, wide, kernel, stride, kernel // 2, groups=wide, bias=False)
        parts += [depthwise, nn.BatchNorm2d(wide), activation()]
        if squeezes:
            parts.append(Squeeze(wide))
        parts += [nn.Conv2d(wide, outputs, 1, bias=False), nn.BatchNorm2d(outputs)]
        self.parts = nn.Sequential(*parts)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.parts(x)
        return x + y if self.adds else y


def mobilenet() -> nn.Module:
    """The layers of a MobileNetV3-small."""
    low, high = nn.ReLU, nn.Hardswish
    blocks = [
        *((16, 16, 16, 3, True, low, 2), (16, 72, 24, 3, False, low, 2)),
        *((24, 88, 24, 3, False, low, 1), (24, 96, 40, 5, True, high, 2)),
        *((40, 240, 40, 5, True, high, 1), (40, 240, 40, 5, True, high, 1)),
        *((40, 120, 48, 5, True, high, 1), (48, 144, 48, 5, True, high, 1)),
        *((48, 288, 96, 5, True, high, 2), (96, 576, 96, 5, True, high, 1)),
        (96, 576, 96, 5, True, high, 1),
    ]
    return nn.Sequential(
        *(nn.Conv2d(3, 16, 3, 2, 1, bias=False), nn.BatchNorm2d(16), high()),
        *(Inverted(*block) for block in blocks),
        *(nn.Conv2d(96, 576, 1, bias=False), nn.BatchNorm2d(576), high()),
        *(nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(576, 1024), high()),
        nn.Linear(1024, 1000),
    )


class Stack(nn.Module):
    """Twelve blocks, as a GPT-2 has them, without its words."""

    def __init__(self, blocks: int = 12, width: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))
        self.last = nn.LayerNorm(width)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        for block in self.blocks:
            x = block(x)
        return self.last(x)


class Decoder(nn.Module):
    """One word more, behind the keys and values of those before."""

    def __init__(self, blocks: int = 12, width: int = 768, heads: int = 12) -> None:
        super().__init__()
        self.heads = heads
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(blocks))

    def forward(
        self, x: torch.Tensor, keys: torch.Tensor, values: torch.Tensor
    ) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        batch, length, width = x.shape
        all_keys, all_values = [], []
        for number, block in enumerate(self.blocks):
            query, key, value = (
                part.view(batch, length, self.heads, width // self.heads).transpose(1, 2)
                for part in block.parts(block.before(x)).split(width, 2)
            )
            key = torch.cat([keys[number], key], 2)
            value = torch.cat([values[number], value], 2)
            seen = functional.scaled_dot_product_attention(query, key, value)
            x = x + block.joined(seen.transpose(1, 2).reshape(batch, length, width))
            x = x + block.narrow(functional.gelu(block.wide(block.between(x))))
            all_keys.append(key)
            all_values.append(value)
        return x, torch.stack(all_keys), torch.stack(all_values)


def drawn(*sizes: int) -> Callable[[], tuple[torch.Tensor, ...]]:
    return lambda: (torch.randn(sizes),)


NETWORKS: dict[str, Made] = {
    "MLP 64-32-10, batch 1": (lambda: layers(64, 32, 10), drawn(1, 64)),
    "MLP 784-512-10, batch 64": (lambda: layers(784, 512, 10), drawn(64, 784)),
    "transformer block, 64 x 256": (Block, drawn(1, 64, 256)),
    "transformer block, 4 x 128 x 256": (Block, drawn(4, 128, 256)),
    "conv net 64 x 64, batch 1": (conv_net, drawn(1, 3, 64, 64)),
    "conv net 64 x 64, batch 8": (conv_net, drawn(8, 3, 64, 64)),
    "separable, 4 x 3 x 96 x 96": (separable_net, drawn(4, 3, 96, 96)),
    "residual block, 64 x 56 x 56": (lambda: Residual(64, 64), drawn(1, 64, 56, 56)),
    "ResNet-18, batch 1": (resnet18, drawn(1, 3, 224, 224)),
    "ResNet-18, batch 8": (resnet18, drawn(8, 3, 224, 224)),
    "MobileNetV3-small, batch 1": (mobilenet, drawn(1, 3, 224, 224)),
    "GPT-2 stack, 128 words": (Stack, drawn(1, 128, 768)),
    "GPT-2 stack, a word behind 128": (
        Decoder,
        lambda: (
            torch.randn(1, 1, 768), torch.randn(12, 1, 12, 128, 64), torch.randn(12, 1, 12, 128, 64)
        ),
    ),
}  # fmt: skip
