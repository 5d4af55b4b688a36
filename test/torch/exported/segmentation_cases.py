"""Decoders of segmentation_models_pytorch on a small encoder, with random weights."""

import segmentation_models_pytorch as segmentation
import torch
from exported.case import Case

SOURCE = "segmentation_models"
VERSION = segmentation.__version__
SHORT = ()
NAMES = "Unet UnetPlusPlus MAnet Linknet FPN PSPNet PAN DeepLabV3 DeepLabV3Plus UPerNet Segformer"


def names() -> list[str]:
    return NAMES.split()


def make(name: str) -> Case:
    net = getattr(segmentation, name)("resnet18", encoder_weights=None, classes=3)
    return Case(net.eval(), (torch.randn(1, 3, 128, 128),))
