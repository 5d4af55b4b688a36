"""Networks of diffusers, small, with random weights."""

import diffusers
import torch
from exported.case import Case

SOURCE = "diffusers"
VERSION = diffusers.__version__
SHORT = ()


def unet_2d() -> Case:
    net = diffusers.UNet2DModel(
        sample_size=16,
        block_out_channels=(32, 64),
        layers_per_block=1,
        norm_num_groups=8,
        down_block_types=("DownBlock2D", "AttnDownBlock2D"),
        up_block_types=("AttnUpBlock2D", "UpBlock2D"),
    )
    return Case(net.eval(), (torch.randn(1, 3, 16, 16), torch.tensor(5)), {"return_dict": False})


def unet_2d_condition() -> Case:
    net = diffusers.UNet2DConditionModel(
        sample_size=16,
        block_out_channels=(32, 64),
        layers_per_block=1,
        norm_num_groups=8,
        cross_attention_dim=16,
        attention_head_dim=8,
        down_block_types=("CrossAttnDownBlock2D", "DownBlock2D"),
        up_block_types=("UpBlock2D", "CrossAttnUpBlock2D"),
    )
    args = (torch.randn(1, 4, 16, 16), torch.tensor(5), torch.randn(1, 7, 16))
    return Case(net.eval(), args, {"return_dict": False})


def autoencoder_kl() -> Case:
    net = diffusers.AutoencoderKL(
        block_out_channels=(32, 64),
        norm_num_groups=8,
        down_block_types=("DownEncoderBlock2D",) * 2,
        up_block_types=("UpDecoderBlock2D",) * 2,
    )
    return Case(net.eval(), (torch.randn(1, 3, 32, 32),), {"return_dict": False})


def vq_model() -> Case:
    net = diffusers.VQModel(block_out_channels=(32,), norm_num_groups=8, num_vq_embeddings=16)
    return Case(net.eval(), (torch.randn(1, 3, 32, 32),), {"return_dict": False})


def dit_transformer_2d() -> Case:
    net = diffusers.DiTTransformer2DModel(
        num_attention_heads=2, attention_head_dim=16, in_channels=4, num_layers=2, sample_size=8
    )
    args = (torch.randn(1, 4, 8, 8), torch.tensor([3]), torch.tensor([1]))
    return Case(net.eval(), args, {"return_dict": False})


CASES = {
    "autoencoder_kl": autoencoder_kl,
    "dit_transformer_2d": dit_transformer_2d,
    "unet_2d": unet_2d,
    "unet_2d_condition": unet_2d_condition,
    "vq_model": vq_model,
}


def names() -> list[str]:
    return list(CASES)


def make(name: str) -> Case:
    return CASES[name]()
