"""How far outputs are from PyTorch's."""

import torch


def flat(value: object) -> list:
    """The tensors and numbers of a result, in order; fields that are None are left out."""
    if isinstance(value, dict):
        return [one for each in value.values() for one in flat(each)]
    if isinstance(value, list | tuple):
        return [one for each in value for one in flat(each)]
    return [] if value is None else [value]


def as_tensor(value: object) -> torch.Tensor:
    """One of PyTorch's, of a tensor of Opyard's or a number."""
    if isinstance(value, torch.Tensor):
        return value.detach()
    if hasattr(value, "__dlpack__"):
        return torch.from_dlpack(value.detach())
    return torch.tensor(value)


def difference(given: object, wanted: object) -> float:
    """The largest, over the largest element; infinite if counts, dtypes or sizes differ."""
    ours, theirs = flat(given), flat(wanted)
    if len(ours) != len(theirs):
        return float("inf")
    pairs = zip(map(as_tensor, ours), map(as_tensor, theirs), strict=True)
    return max((distance(*pair) for pair in pairs), default=0.0)


def distance(ours: torch.Tensor, theirs: torch.Tensor) -> float:
    if ours.shape != theirs.shape or ours.dtype != theirs.dtype:
        return float("inf")
    if not (theirs.is_floating_point() or theirs.is_complex()):
        return 0.0 if torch.equal(ours, theirs) else float("inf")
    wide = torch.complex128 if theirs.is_complex() else torch.float64
    ours, theirs = ours.to(wide), theirs.to(wide)
    same = (ours == theirs) | (ours.isnan() & theirs.isnan())
    if same.all():
        return 0.0
    finite = theirs.abs()[theirs.isfinite()]
    scale = max(finite.max().item() if finite.numel() else 0.0, 1e-6)
    far = (ours - theirs).abs()[~same].max().item()
    return far / scale if far == far else float("inf")
