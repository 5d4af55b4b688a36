"""The architectures of torchvision, with random weights."""

import re
import sys

import torch
from exported.case import Case

try:
    import torchvision
except RuntimeError:  # its library is for another build of PyTorch; architectures do without
    DEFINED = torch.library.Library("torchvision", "DEF")
    for operator in ("nms", "qnms"):
        DEFINED.define(f"{operator}(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    for module_name in [one for one in sys.modules if one.startswith("torchvision")]:
        del sys.modules[module_name]
    import torchvision
    from torchvision.ops import boxes

    def kept_boxes(dets, scores, iou_threshold):
        """nms(), for the calls that show whether a model runs at all."""
        left, kept = scores.argsort(descending=True, stable=True), []
        while left.numel() > 0:
            kept.append(left[:1])
            shared = boxes.box_iou(dets[left[:1]], dets[left[1:]])[0]
            left = left[1:][shared <= iou_threshold]
        return torch.cat(kept) if kept else left

    DEFINED.impl("nms", kept_boxes, "CPU")
    boxes._assert_has_ops = lambda: None

SOURCE = "torchvision"
VERSION = torchvision.__version__
SIZES = {"inception_v3": 299, "vit_h_14": 224}
HUGE = ("regnet_y_128gf", "vit_h_14")  # gigabytes of weights
SHORT = ("mobilenet_v3_small", "squeezenet1_1")


def names() -> list[str]:
    """All but those that only PyTorch's eager quantisation runs, which it does not export."""
    listed = torchvision.models.list_models()
    return [one for one in listed if one not in HUGE and not one.startswith("quantized_")]


def make(name: str) -> Case:
    get_model = torchvision.models.get_model
    try:
        module = get_model(name, weights=None, weights_backbone=None)
    except TypeError:
        module = get_model(name, weights=None)
    module = module.eval()
    kind = module.__module__
    if ".video." in kind:
        wide = re.match("mvit|swin|s3d", name)
        size = (16, 224, 224) if wide else (8, 112, 112)
        return Case(module, (torch.randn(1, 3, *size),))
    if ".optical_flow." in kind:
        return Case(module, (torch.randn(1, 3, 128, 128), torch.randn(1, 3, 128, 128)))
    size = SIZES.get(name, 224)
    if ".detection." in kind:
        return Case(module, ([torch.rand(3, size, size)],))
    return Case(module, (torch.randn(1, 3, size, size),))
