"""Protects what a stranger sees first: the example learns, and says truly where calls went."""

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


BAD_IMAGES = {
    "nan": (
        "np.where(np.arange(192).reshape(3, 64) == 70, np.nan, 0)",
        "row 1 holds NaN at pixel 6",
    ),
    "infinity": ("np.full((2, 8, 8), np.inf)", "row 0 holds an infinity at pixel 0"),
    "shape": ("np.zeros((2, 63))", "row 0 has 63 pixels, not 64"),
    "dimensions": ("np.zeros((64,))", "but they are [64]"),
}


@pytest.mark.parametrize("kind", BAD_IMAGES)
@pytest.mark.parametrize("call", ["deskew(images)", "augment(images, seed=1)"])
def test_bad_images_name_the_row(wheel_python, library, tmp_path, kind, call):
    images, text = BAD_IMAGES[kind]
    program = f"""
import numpy as np, opyard
opyard.load_library({str(library)!r})
images = opyard.from_numpy(({images}).astype(np.float32))
try:
    opyard.ops.digits.{call}
except ValueError as error:
    print(error)
assert opyard.ops.digits.deskew(opyard.from_numpy(np.zeros((1, 64), np.float32))).shape == (1, 64)
"""
    assert text in run(wheel_python, "-c", program, cwd=tmp_path)


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
