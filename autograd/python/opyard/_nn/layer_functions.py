"""Functional forms of layers, as in torch.nn.functional: their weights are arguments.

A layer with weights is the operator that it calls. Any other is made with the settings and called,
so that checks and messages are the layer's.
"""

from collections.abc import Sequence
from typing import Any

from .. import _C
from .._core.keywords import names_keywords
from .._core.ops import ops
from . import normalization, pixels, pooling
from .embedding import shorten_rows
from .sizes import Sizes


def _number_of(function: str, name: str, given: str, known: tuple[str, ...]) -> int:
    """The place of a text among those that are known. Raises ValueError."""
    if given not in known:
        raise ValueError(f"{function}: {name} is one of {', '.join(known)}, not {given!r}")
    return known.index(given)


@names_keywords
def linear(input: _C.Tensor, weight: _C.Tensor, bias: "_C.Tensor | None" = None) -> _C.Tensor:
    """What nn.Linear computes with these weights."""
    return ops.aten.linear(input, weight, bias)


@names_keywords
def bilinear(
    input1: _C.Tensor, input2: _C.Tensor, weight: _C.Tensor, bias: "_C.Tensor | None" = None
) -> _C.Tensor:
    """What nn.Bilinear computes with these weights."""
    return ops.aten.bilinear(input1, input2, weight, bias)


@names_keywords
def conv1d(
    input: _C.Tensor,
    weight: _C.Tensor,
    bias: "_C.Tensor | None" = None,
    stride: Sizes = 1,
    padding: "Sizes | str" = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> _C.Tensor:
    """What nn.Conv1d computes with these weights."""
    return ops.aten.conv1d(input, weight, bias, stride, padding, dilation, groups)


@names_keywords
def conv2d(
    input: _C.Tensor,
    weight: _C.Tensor,
    bias: "_C.Tensor | None" = None,
    stride: Sizes = 1,
    padding: "Sizes | str" = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> _C.Tensor:
    """What nn.Conv2d computes with these weights."""
    return ops.aten.conv2d(input, weight, bias, stride, padding, dilation, groups)


@names_keywords
def conv3d(
    input: _C.Tensor,
    weight: _C.Tensor,
    bias: "_C.Tensor | None" = None,
    stride: Sizes = 1,
    padding: "Sizes | str" = 0,
    dilation: Sizes = 1,
    groups: int = 1,
) -> _C.Tensor:
    """What nn.Conv3d computes with these weights."""
    return ops.aten.conv3d(input, weight, bias, stride, padding, dilation, groups)


@names_keywords
def conv_transpose1d(
    input: _C.Tensor,
    weight: _C.Tensor,
    bias: "_C.Tensor | None" = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> _C.Tensor:
    """What nn.ConvTranspose1d computes with these weights."""
    return ops.aten.conv_transpose1d(
        input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@names_keywords
def conv_transpose2d(
    input: _C.Tensor,
    weight: _C.Tensor,
    bias: "_C.Tensor | None" = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> _C.Tensor:
    """What nn.ConvTranspose2d computes with these weights."""
    return ops.aten.conv_transpose2d(
        input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@names_keywords
def conv_transpose3d(
    input: _C.Tensor,
    weight: _C.Tensor,
    bias: "_C.Tensor | None" = None,
    stride: Sizes = 1,
    padding: Sizes = 0,
    output_padding: Sizes = 0,
    groups: int = 1,
    dilation: Sizes = 1,
) -> _C.Tensor:
    """What nn.ConvTranspose3d computes with these weights."""
    return ops.aten.conv_transpose3d(
        input, weight, bias, stride, padding, output_padding, groups, dilation
    )


@names_keywords
def avg_pool1d(
    input: _C.Tensor,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
) -> _C.Tensor:
    """What nn.AvgPool1d computes."""
    settings = kernel_size, stride, padding, ceil_mode, count_include_pad
    return pooling.AvgPool1d(*settings)(input)


@names_keywords
def avg_pool2d(
    input: _C.Tensor,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: "int | None" = None,
) -> _C.Tensor:
    """What nn.AvgPool2d computes."""
    settings = kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    return pooling.AvgPool2d(*settings)(input)


@names_keywords
def avg_pool3d(
    input: _C.Tensor,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    padding: Sizes = 0,
    ceil_mode: bool = False,
    count_include_pad: bool = True,
    divisor_override: "int | None" = None,
) -> _C.Tensor:
    """What nn.AvgPool3d computes."""
    settings = kernel_size, stride, padding, ceil_mode, count_include_pad, divisor_override
    return pooling.AvgPool3d(*settings)(input)


@names_keywords
def max_pool1d(
    input: _C.Tensor,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """What nn.MaxPool1d computes; with `return_indices` a pair, with their places."""
    settings = kernel_size, stride, padding, dilation, return_indices, ceil_mode
    return pooling.MaxPool1d(*settings)(input)


@names_keywords
def max_pool2d(
    input: _C.Tensor,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """What nn.MaxPool2d computes; with `return_indices` a pair, with their places."""
    settings = kernel_size, stride, padding, dilation, return_indices, ceil_mode
    return pooling.MaxPool2d(*settings)(input)


@names_keywords
def max_pool3d(
    input: _C.Tensor,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    padding: Sizes = 0,
    dilation: Sizes = 1,
    ceil_mode: bool = False,
    return_indices: bool = False,
) -> Any:
    """What nn.MaxPool3d computes; with `return_indices` a pair, with their places."""
    settings = kernel_size, stride, padding, dilation, return_indices, ceil_mode
    return pooling.MaxPool3d(*settings)(input)


@names_keywords
def adaptive_avg_pool1d(input: _C.Tensor, output_size: Any) -> _C.Tensor:
    """What nn.AdaptiveAvgPool1d computes."""
    return pooling.AdaptiveAvgPool1d(output_size)(input)


@names_keywords
def adaptive_avg_pool2d(input: _C.Tensor, output_size: Any) -> _C.Tensor:
    """What nn.AdaptiveAvgPool2d computes."""
    return pooling.AdaptiveAvgPool2d(output_size)(input)


@names_keywords
def adaptive_avg_pool3d(input: _C.Tensor, output_size: Any) -> _C.Tensor:
    """What nn.AdaptiveAvgPool3d computes."""
    return pooling.AdaptiveAvgPool3d(output_size)(input)


@names_keywords
def adaptive_max_pool1d(input: _C.Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """What nn.AdaptiveMaxPool1d computes; with `return_indices` a pair, with their places."""
    return pooling.AdaptiveMaxPool1d(output_size, return_indices)(input)


@names_keywords
def adaptive_max_pool2d(input: _C.Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """What nn.AdaptiveMaxPool2d computes; with `return_indices` a pair, with their places."""
    return pooling.AdaptiveMaxPool2d(output_size, return_indices)(input)


@names_keywords
def adaptive_max_pool3d(input: _C.Tensor, output_size: Any, return_indices: bool = False) -> Any:
    """What nn.AdaptiveMaxPool3d computes; with `return_indices` a pair, with their places."""
    return pooling.AdaptiveMaxPool3d(output_size, return_indices)(input)


@names_keywords
def lp_pool1d(
    input: _C.Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    ceil_mode: bool = False,
) -> _C.Tensor:
    """What nn.LPPool1d computes."""
    return pooling.LPPool1d(norm_type, kernel_size, stride, ceil_mode)(input)


@names_keywords
def lp_pool2d(
    input: _C.Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    ceil_mode: bool = False,
) -> _C.Tensor:
    """What nn.LPPool2d computes."""
    return pooling.LPPool2d(norm_type, kernel_size, stride, ceil_mode)(input)


@names_keywords
def lp_pool3d(
    input: _C.Tensor,
    norm_type: float,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    ceil_mode: bool = False,
) -> _C.Tensor:
    """What nn.LPPool3d computes."""
    return pooling.LPPool3d(norm_type, kernel_size, stride, ceil_mode)(input)


@names_keywords
def max_unpool1d(
    input: _C.Tensor,
    indices: _C.Tensor,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    padding: Sizes = 0,
    output_size: "Sequence[int] | None" = None,
) -> _C.Tensor:
    """What nn.MaxUnpool1d computes."""
    return pooling.MaxUnpool1d(kernel_size, stride, padding)(input, indices, output_size)


@names_keywords
def max_unpool2d(
    input: _C.Tensor,
    indices: _C.Tensor,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    padding: Sizes = 0,
    output_size: "Sequence[int] | None" = None,
) -> _C.Tensor:
    """What nn.MaxUnpool2d computes."""
    return pooling.MaxUnpool2d(kernel_size, stride, padding)(input, indices, output_size)


@names_keywords
def max_unpool3d(
    input: _C.Tensor,
    indices: _C.Tensor,
    kernel_size: Sizes,
    stride: "Sizes | None" = None,
    padding: Sizes = 0,
    output_size: "Sequence[int] | None" = None,
) -> _C.Tensor:
    """What nn.MaxUnpool3d computes."""
    return pooling.MaxUnpool3d(kernel_size, stride, padding)(input, indices, output_size)


@names_keywords
def batch_norm(
    input: _C.Tensor,
    running_mean: "_C.Tensor | None",
    running_var: "_C.Tensor | None",
    weight: "_C.Tensor | None" = None,
    bias: "_C.Tensor | None" = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> _C.Tensor:
    """What nn.BatchNorm1d to 3d compute; while `training` the running tensors are written."""
    return ops.aten.batch_norm(
        input, weight, bias, running_mean, running_var, training, momentum, eps, False
    )


@names_keywords
def instance_norm(
    input: _C.Tensor,
    running_mean: "_C.Tensor | None" = None,
    running_var: "_C.Tensor | None" = None,
    weight: "_C.Tensor | None" = None,
    bias: "_C.Tensor | None" = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> _C.Tensor:
    """What nn.InstanceNorm1d to 3d compute; `use_input_stats` as while they train."""
    return ops.aten.instance_norm(
        input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, False
    )


@names_keywords
def layer_norm(
    input: _C.Tensor,
    normalized_shape: "Sequence[int]",
    weight: "_C.Tensor | None" = None,
    bias: "_C.Tensor | None" = None,
    eps: float = 1e-5,
) -> _C.Tensor:
    """What nn.LayerNorm computes with these weights."""
    return ops.aten.layer_norm(input, normalized_shape, weight, bias, eps)


@names_keywords
def group_norm(
    input: _C.Tensor,
    num_groups: int,
    weight: "_C.Tensor | None" = None,
    bias: "_C.Tensor | None" = None,
    eps: float = 1e-5,
) -> _C.Tensor:
    """What nn.GroupNorm computes with these weights."""
    return ops.aten.group_norm(input, num_groups, weight, bias, eps)


@names_keywords
def rms_norm(
    input: _C.Tensor,
    normalized_shape: "Sequence[int]",
    weight: "_C.Tensor | None" = None,
    eps: "float | None" = None,
) -> _C.Tensor:
    """What nn.RMSNorm computes with this weight."""
    return ops.aten.rms_norm(input, normalized_shape, weight, eps)


@names_keywords
def local_response_norm(
    input: _C.Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> _C.Tensor:
    """What nn.LocalResponseNorm computes."""
    return normalization.LocalResponseNorm(size, alpha, beta, k)(input)


@names_keywords
def embedding(
    input: _C.Tensor,
    weight: _C.Tensor,
    padding_idx: "int | None" = None,
    max_norm: "float | None" = None,
    norm_type: float = 2.0,
    scale_grad_by_freq: bool = False,
) -> _C.Tensor:
    """What nn.Embedding computes with these rows; longer ones are scaled to max_norm, in weight."""
    if max_norm is not None:
        shorten_rows(weight, input.reshape(-1), max_norm, norm_type)
    rows = weight.shape[0]
    if padding_idx is not None and not -rows <= padding_idx < rows:
        raise ValueError(f"embedding: padding_idx must be one of {rows} rows, not {padding_idx}")
    padding = -1 if padding_idx is None else padding_idx % rows
    return ops.aten.embedding(weight, input, padding, scale_grad_by_freq)


@names_keywords
def one_hot(tensor: _C.Tensor, num_classes: int = -1) -> _C.Tensor:
    """A row for each number of a class: 1 there, else 0. With -1 the largest says how long."""
    return ops.aten.one_hot(tensor, num_classes)


@names_keywords
def pad(
    input: _C.Tensor, pad: "Sequence[int]", mode: str = "constant", value: "float | None" = None
) -> _C.Tensor:
    """input with `pad` elements more at each end, the last dimension first."""
    return ops.aten.pad(input, pad, mode, value)


@names_keywords
def unfold(
    input: _C.Tensor, kernel_size: Sizes, dilation: Sizes = 1, padding: Sizes = 0, stride: Sizes = 1
) -> _C.Tensor:
    """What nn.Unfold computes."""
    return pixels.Unfold(kernel_size, dilation, padding, stride)(input)


@names_keywords
def fold(
    input: _C.Tensor,
    output_size: Sizes,
    kernel_size: Sizes,
    dilation: Sizes = 1,
    padding: Sizes = 0,
    stride: Sizes = 1,
) -> _C.Tensor:
    """What nn.Fold computes."""
    return pixels.Fold(output_size, kernel_size, dilation, padding, stride)(input)


@names_keywords
def pixel_shuffle(input: _C.Tensor, upscale_factor: int) -> _C.Tensor:
    """What nn.PixelShuffle computes."""
    return ops.aten.pixel_shuffle(input, upscale_factor)


@names_keywords
def pixel_unshuffle(input: _C.Tensor, downscale_factor: int) -> _C.Tensor:
    """What nn.PixelUnshuffle computes."""
    return ops.aten.pixel_unshuffle(input, downscale_factor)


@names_keywords
def channel_shuffle(input: _C.Tensor, groups: int) -> _C.Tensor:
    """What nn.ChannelShuffle computes."""
    return ops.aten.channel_shuffle(input, groups)


@names_keywords
def interpolate(
    input: _C.Tensor,
    size: "Sizes | None" = None,
    scale_factor: "float | Sequence[float] | None" = None,
    mode: str = "nearest",
    align_corners: "bool | None" = None,
) -> _C.Tensor:
    """What nn.Upsample computes."""
    return pixels.Upsample(size, scale_factor, mode, align_corners)(input)


@names_keywords
def upsample(
    input: _C.Tensor,
    size: "Sizes | None" = None,
    scale_factor: "float | Sequence[float] | None" = None,
    mode: str = "nearest",
    align_corners: "bool | None" = None,
) -> _C.Tensor:
    """interpolate(), by its older name."""
    return interpolate(input, size, scale_factor, mode, align_corners)


@names_keywords
def upsample_nearest(
    input: _C.Tensor,
    size: "Sizes | None" = None,
    scale_factor: "float | Sequence[float] | None" = None,
) -> _C.Tensor:
    """interpolate(mode="nearest")."""
    return interpolate(input, size, scale_factor)


@names_keywords
def upsample_bilinear(
    input: _C.Tensor,
    size: "Sizes | None" = None,
    scale_factor: "float | Sequence[float] | None" = None,
) -> _C.Tensor:
    """interpolate(mode="bilinear", align_corners=True)."""
    return interpolate(input, size, scale_factor, "bilinear", True)


@names_keywords
def grid_sample(
    input: _C.Tensor,
    grid: _C.Tensor,
    mode: str = "bilinear",
    padding_mode: str = "zeros",
    align_corners: bool = False,
) -> _C.Tensor:
    """Elements of input [n, channels, ...] at the places of grid, from -1 to 1."""
    kind = _number_of("grid_sample", "mode", mode, ("bilinear", "nearest", "bicubic"))
    border = _number_of(
        "grid_sample", "padding_mode", padding_mode, ("zeros", "border", "reflection")
    )
    return ops.aten.grid_sampler(input, grid, kind, border, align_corners)


@names_keywords
def scaled_dot_product_attention(
    query: _C.Tensor,
    key: _C.Tensor,
    value: _C.Tensor,
    attn_mask: "_C.Tensor | None" = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: "float | None" = None,
    enable_gqa: bool = False,
) -> _C.Tensor:
    """softmax(query @ key.T * scale + attn_mask) @ value."""
    return ops.aten.scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale=scale, enable_gqa=enable_gqa
    )


@names_keywords
def cosine_similarity(x1: _C.Tensor, x2: _C.Tensor, dim: int = 1, eps: float = 1e-8) -> _C.Tensor:
    """What nn.CosineSimilarity computes."""
    return ops.aten.cosine_similarity(x1, x2, dim, eps)


@names_keywords
def pairwise_distance(
    x1: _C.Tensor, x2: _C.Tensor, p: float = 2.0, eps: float = 1e-6, keepdim: bool = False
) -> _C.Tensor:
    """What nn.PairwiseDistance computes."""
    return ops.aten.pairwise_distance(x1, x2, p, eps, keepdim)


@names_keywords
def pdist(input: _C.Tensor, p: float = 2) -> _C.Tensor:
    """The distances of all pairs of rows."""
    return ops.aten.pdist(input, p)
