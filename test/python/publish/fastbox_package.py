"""The package of examples/fastbox as pip would install it, for the tests of publishing.

Its C++ is compiled here, against the build; its Python and its entry point are the example's.
test/consumer/test_fastbox.py builds the wheel itself.
"""

import re
import shutil
import subprocess
import sys

import numpy as np
from built import ROOT

from opyard import _build_info

EXAMPLE = ROOT / "examples" / "fastbox"


def install(folder):
    """Puts the package into a folder, and the folder first on the path."""
    package = folder / "fastbox"
    shutil.copytree(EXAMPLE / "fastbox", package)
    compiler = shutil.which("c++")
    assert compiler is not None
    flags = ["-std=c++20", "-O2", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC"]
    flags += ["-DOPYARD_CHECKED", *(f"-I{path}" for path in _build_info.include_dirs)]
    files = [EXAMPLE / "fastbox.cpp", "-o", package / "libfastbox.so", _build_info.library]
    subprocess.run([compiler, *flags, *files], check=True)
    project = (EXAMPLE / "pyproject.toml").read_text("utf-8")
    [entry] = re.findall(r'entry-points\."opyard\.plugins"\]\n(.*?)\n', project)
    info = folder / "fastbox-0.1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fastbox\nVersion: 0.1.0\n")
    (info / "entry_points.txt").write_text(
        "[opyard.plugins]\n" + entry.replace('"', "") + "\n", "utf-8"
    )
    sys.path.insert(0, str(folder))


# ---- the same by NumPy


def nms(boxes, scores, threshold):
    def overlap(a, b):
        width = min(a[2], b[2]) - max(a[0], b[0])
        height = min(a[3], b[3]) - max(a[1], b[1])
        both = max(width, 0) * max(height, 0)
        area = lambda box: (box[2] - box[0]) * (box[3] - box[1])  # noqa: E731
        return both / (area(a) + area(b) - both) if both else 0.0

    kept = []
    for index in np.argsort(-scores, kind="stable"):
        if all(overlap(boxes[other], boxes[index]) <= threshold for other in kept):
            kept.append(int(index))
    return kept


def rotary(x, cos, sin):
    a, b = np.split(x, 2, axis=-1)
    return np.concatenate([a * cos - b * sin, b * cos + a * sin], -1)


def int8_matmul(a, b, a_scale, b_scale):
    exact = a.astype(np.int64) @ b.astype(np.int64)
    return exact.astype(np.float32) * a_scale[:, None] * b_scale


# ---- arguments


def boxes_and_scores(count, seed=0):
    random = np.random.default_rng(seed)
    corners = random.uniform(0, 8, (count, 2))
    boxes = np.concatenate([corners, corners + random.uniform(1, 5, (count, 2))], 1)
    return boxes.astype(np.float32), random.permutation(count).astype(np.float32)


def tables(positions, half, dtype=np.float32):
    angles = np.outer(np.arange(positions), 100.0 ** -(np.arange(half) / half))
    return np.cos(angles).astype(dtype), np.sin(angles).astype(dtype)


def factors(m=3, k=17, n=5, seed=0):
    random = np.random.default_rng(seed)
    a = random.integers(-128, 128, (m, k), np.int8)
    b = random.integers(-128, 128, (k, n), np.int8)
    scales = random.uniform(0.01, 1, (m,)), random.uniform(0.01, 1, (n,))
    return a, b, *(scale.astype(np.float32) for scale in scales)
