"""Protects the example of digits: it learns, and its explanations say where calls went."""

import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import run

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "digits"


@pytest.fixture(scope="module")
def library(build_info, tmp_path_factory):
    """libdigits.so, built by the example's own meson.build against the installed wheel."""
    build = tmp_path_factory.mktemp("digits")
    meson = shutil.which("meson", path=f"{Path(sys.executable).parent}:/usr/bin")
    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    run(meson, "setup", "--buildtype=release", build, EXAMPLE, cwd=build, **found)
    run(meson, "compile", "-C", build, cwd=build)
    return build / "libdigits.so"


def train(python, library, folder, *options):
    return run(python, EXAMPLE / "train.py", "--library", library, *options, cwd=folder)


def accuracy(printed):
    return float(re.search(r"^accuracy (\d\.\d{4}) on 450 held-out images$", printed, re.M)[1])


def test_it_learns_and_its_counters_agree_with_explain(wheel_python, library, tmp_path):
    printed = train(wheel_python, library, tmp_path)
    assert accuracy(printed) >= 0.95
    where = r"digits::deskew goes to CPU, registered at .*?([\w.]+):\d+$"
    routes = re.findall(where, printed, re.M)
    assert routes == ["digits.cpp", "train.py", "digits.cpp"]
    counted = re.findall(r"counted: C\+\+ (\d+), NumPy (\d+); this call ran the (\S+)", printed)
    # A third of 45 epochs between the calls; each epoch and each of these calls counts once.
    assert counted == [("1", "0", "C++"), ("16", "1", "NumPy"), ("17", "16", "C++")]


def test_labels_without_meaning_teach_nothing(wheel_python, library, tmp_path):
    assert accuracy(train(wheel_python, library, tmp_path, "--shuffle-labels")) < 0.2


def test_the_same_seed_gives_the_same_accuracy(wheel_python, library, tmp_path):
    first, second = (train(wheel_python, library, tmp_path, "--epochs", "3") for _ in range(2))
    assert accuracy(first) == accuracy(second)


def test_a_difference_of_two_runs_is_below_one_stack(wheel_python, library, tmp_path):
    train(wheel_python, library, tmp_path, "--epochs", "3", "--profile", "run.html", "--diff")
    picture = (tmp_path / "run.diff.svg").read_text()
    for function in ("main", "train", "step"):
        both = re.findall(rf"<title>[^<]*\): {function}: ([^<]*), before ([^<]*)</title>", picture)
        assert len(both) == 1, (function, both)
        assert not any(re.match(r"0\.0+\w", time) for time in both[0]), (function, both)


FINITE = "; every pixel must be a finite number"
SHAPES = "images must have the shape [n, 64] or [n, 8, 8], but they have"
BAD_IMAGES = {
    "nan": (
        "np.where(np.arange(192).reshape(3, 64) == 70, np.nan, 0)",
        f"row 1 of images holds NaN at pixel 6{FINITE}",
    ),
    "infinity": (
        "np.full((2, 8, 8), -np.inf)",
        f"row 0 of images holds an infinity at pixel 0{FINITE}",
    ),
    "shape": ("np.zeros((5, 63))", f"{SHAPES} [5, 63]: rows 0 to 4 have the shape [63]"),
    "one row": ("np.zeros((1, 8, 9))", f"{SHAPES} [1, 8, 9]: row 0 has the shape [8, 9]"),
    "arrangement": (
        "np.zeros((2, 4, 16))",
        f"{SHAPES} [2, 4, 16]: rows 0 to 1 have the shape [4, 16]",
    ),
    "no row": ("np.zeros((0, 63))", f"{SHAPES} [0, 63]"),
    "dimensions": (
        "np.zeros((64,))",
        f"{SHAPES} [64], which has no rows; a single image is [1, 64]",
    ),
}
CALLS = {"deskew": "deskew(images)", "augment": "augment(images, seed=1)"}


@pytest.mark.parametrize("kind", BAD_IMAGES)
@pytest.mark.parametrize("op", CALLS)
def test_bad_images_name_the_row(wheel_python, library, tmp_path, kind, op):
    images, text = BAD_IMAGES[kind]
    program = f"""
import numpy as np, opyard
opyard.load_library({str(library)!r})
images = opyard.from_numpy(({images}).astype(np.float32))
try:
    opyard.ops.digits.{CALLS[op]}
except ValueError as error:
    print(error)
assert opyard.ops.digits.deskew(opyard.from_numpy(np.zeros((1, 64), np.float32))).shape == (1, 64)
"""
    assert run(wheel_python, "-c", program, cwd=tmp_path) == f"digits::{op}: {text}\n"


BAD_FOR_NUMPY = {
    "nan": (BAD_IMAGES["nan"][0], f"row 1 of images holds nan at pixel 6{FINITE}"),
    "infinity": (BAD_IMAGES["infinity"][0], f"row 0 of images holds -inf at pixel 0{FINITE}"),
    "shape": (BAD_IMAGES["shape"][0], f"{SHAPES} [5, 63]"),
}


@pytest.mark.parametrize("kind", BAD_FOR_NUMPY)
def test_bad_images_name_the_row_in_numpy_too(wheel_python, library, tmp_path, kind):
    images, text = BAD_FOR_NUMPY[kind]
    program = f"""
import sys
import numpy as np, opyard
sys.path.insert(0, {str(EXAMPLE)!r})
from deskew_numpy import DeskewInNumPy
opyard.load_library({str(library)!r})
images = opyard.from_numpy(({images}).astype(np.float32))
try:
    with opyard.library.override("digits::deskew", "CPU", DeskewInNumPy()):
        opyard.ops.digits.deskew(images)
except ValueError as error:
    print(error)
"""
    assert run(wheel_python, "-c", program, cwd=tmp_path) == f"digits::deskew: {text}\n"


ROWS = {
    "short": ("0," * 63 + "1", "row 1 has 64 numbers, not 65"),
    "pixel": ("17," + "0," * 63 + "1", "row 1 has a pixel that is not in 0 to 16"),
    "nan": ("nan," + "0," * 63 + "1", "row 1 has a pixel that is not in 0 to 16"),
    "label": ("0," * 64 + "10", "row 1 has the label 10, not 0 to 9"),
    "text": ("x," + "0," * 63 + "1", "row 1: could not convert string to float: 'x'"),
}


@pytest.mark.parametrize("kind", ROWS)
def test_a_bad_row_of_the_file_is_named(wheel_python, tmp_path, kind):
    row, text = ROWS[kind]
    program = f"""
import gzip, pathlib, sys
sys.path.insert(0, {str(EXAMPLE)!r})
import data
path = pathlib.Path("digits.csv.gz")
with gzip.open(path, "wt") as file:
    file.write("0," * 64 + "1\\n" + {row!r} + "\\n")
try:
    data.load(path)
except ValueError as error:
    print(error)
"""
    assert text in run(wheel_python, "-c", program, cwd=tmp_path)
