"""use.py: the operators of vision.cpp, called with three kinds of arrays and slow references.

python use.py --library build/libvision.so
"""

import argparse

import numpy as np

import opyard


def slow_nms(boxes, scores, threshold):
    """The indices that are kept, by the definition."""

    def overlap(a, b):
        width = max(0.0, min(a[2], b[2]) - max(a[0], b[0]))
        height = max(0.0, min(a[3], b[3]) - max(a[1], b[1]))
        union = (a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - width * height
        return width * height / union if union > 0 else 0.0

    kept = []
    for i in sorted(range(len(scores)), key=lambda i: -scores[i]):
        if all(overlap(boxes[k], boxes[i]) <= threshold for k in kept):
            kept.append(i)
    return kept


def slow_roi_align(images, boxes, scale, height, width, samples=2):
    """Each point weights every element by how near it is, in float64."""
    _, channels, rows, columns = images.shape
    out = np.zeros((len(boxes), channels, height, width))
    for k, (which, *corners) in enumerate(boxes.astype(np.float64)):
        x1, y1, x2, y2 = (c * scale - 0.5 for c in corners)
        for i, j, s, t in np.ndindex(height, width, samples, samples):
            y = y1 + (y2 - y1) * (i + (s + 0.5) / samples) / height
            x = x1 + (x2 - x1) * (j + (t + 0.5) / samples) / width
            if not (-1 <= y <= rows and -1 <= x <= columns):
                continue
            y, x = min(max(y, 0), rows - 1), min(max(x, 0), columns - 1)
            near_y = np.maximum(0, 1 - np.abs(np.arange(rows) - y))
            near_x = np.maximum(0, 1 - np.abs(np.arange(columns) - x))
            plane = images[int(which)].astype(np.float64)
            out[k, :, i, j] += np.einsum("cyx,y,x->c", plane, near_y, near_x)
    return out / samples**2


def register_fake():
    """What nms gives for tensors without memory: the number of kept boxes is not known."""

    @opyard.library.register_fake("vision::nms")
    def _(boxes, scores, iou_threshold):
        return opyard.ops.aten.empty(
            [opyard.library.get_ctx().new_dynamic_size()], dtype=opyard.int64, device="meta"
        )


def compare(name, make, dtype):
    """Calls both operators with what `make` makes of arrays, dense and strided."""
    vision, random = opyard.ops.vision, np.random.default_rng(0)
    corners = random.uniform(0, 24, (60, 2, 2))
    boxes = np.concatenate([corners.min(axis=1), corners.max(axis=1)], axis=1).astype(dtype)
    scores = random.uniform(size=60).astype(dtype)
    kept = vision.nms(make(boxes), make(scores), 0.3)
    assert type(kept) is type(make(scores))
    assert np.asarray(kept).tolist() == slow_nms(boxes, scores, 0.3)
    assert vision.nms(make(boxes[:0]), make(scores[:0]), 0.3).shape[0] == 0
    strided = vision.nms(make(boxes[::2]), make(scores[::2]), 0.5)
    assert np.asarray(strided).tolist() == slow_nms(boxes[::2], scores[::2], 0.5)

    images = random.normal(size=(2, 12, 10, 3)).astype(dtype).transpose(0, 3, 1, 2)  # channels last
    rois = np.concatenate([random.integers(0, 2, (60, 1)), boxes], axis=1).astype(dtype)
    aligned = np.asarray(vision.roi_align(make(images), make(rois), 0.5, 3, 4))
    error = np.abs(aligned - slow_roi_align(images, rois, 0.5, 3, 4)).max()
    assert error < (1e-4 if dtype == np.float32 else 1e-9), error
    print(f"{name}, {np.dtype(dtype).name}: nms keeps {kept.shape[0]} of 60; roi_align agrees")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True, help="the library that vision.cpp became")
    opyard.load_library(parser.parse_args().library)
    register_fake()

    kinds = {"NumPy": lambda a: a, "Opyard": opyard.from_numpy}
    try:
        import torch

        kinds["PyTorch"] = torch.from_numpy
    except ImportError:
        print("PyTorch: not installed, skipped")
    for name, make in kinds.items():
        for dtype in (np.float32, np.float64):
            compare(name, make, dtype)

    boxes = opyard.tensor([[0.0, 0, 2, 2], [0, 0, 2, 1.9], [3, 3, 4, 4]])
    scores = opyard.tensor([0.5, 0.9, 0.1])
    print("opcheck of nms:", *opyard.library.opcheck("vision::nms", (boxes, scores, 0.5)).values())
    images = opyard.tensor([[[[1.0, 2], [3, 4]]]])
    rois = opyard.tensor([[0.0, 0, 0, 2, 2]])
    # Its kernel reads sizes, so it is asked nothing of symbolic ones.
    asked = ("test_schema", "test_autograd_registration", "test_faketensor")
    given = (images, rois, 1.0, 2, 2)
    checked = opyard.library.opcheck("vision::roi_align", given, test_utils=asked)
    print("opcheck of roi_align:", *checked.values())
    middle = opyard.ops.vision.roi_align(images, rois, 1.0, 1, 1).item()
    assert abs(middle - 2.5) < 1e-6, middle
    try:
        opyard.ops.vision.nms(boxes, opyard.tensor([1, 2, 3]), 0.5)
    except TypeError as error:
        print("refused:", error)


if __name__ == "__main__":
    main()
