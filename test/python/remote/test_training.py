"""test_training.py: data-parallel training gives what one process gives, with a worker killed.

Suspect examples/remote/train.py, and remote/python/opyard/_remote/group.py.
"""

import re
import subprocess
import sys

import pytest
from built import ROOT
from processes import environment_of_a_user

numpy = pytest.importorskip("numpy")
pytestmark = [pytest.mark.once, pytest.mark.filterwarnings("ignore")]

PROGRAM = str(ROOT / "examples/remote/train.py")


def run(*arguments, env=None):
    done = subprocess.run(
        [sys.executable, PROGRAM, *arguments],
        capture_output=True,
        text=True,
        env={**environment_of_a_user(), **(env or {})},
        timeout=200,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def losses(text):
    return [float(each) for each in re.findall(r"loss ([\d.]+)", text)]


def accuracy(text):
    return float(re.search(r"accuracy ([\d.]+)", text)[1])


def test_two_workers_learn_what_one_learns():
    one, two, three = (run("--epochs", "8", "--workers", str(n)) for n in (1, 2, 3))
    for text in (two, three):
        assert numpy.allclose(losses(text), losses(one), atol=2e-3), (one, text)
    assert losses(one)[-1] < losses(one)[0] / 5
    assert accuracy(one) > 0.93 and accuracy(two) > 0.93


def test_training_goes_on_when_a_worker_is_killed():
    text = run("--epochs", "8", "--kill", "4")
    assert "epoch 4: worker 1 was killed by SIGKILL; again on [0]" in text, text
    assert len(losses(text)) == 8 and accuracy(text) > 0.93


@pytest.mark.parametrize("killed", [0, 3], ids=["whole", "killed"])
def test_X45_training_over_engines(engine, killed):
    env = {"RAY_DEDUP_LOGS": "0"} if engine == "ray" else None
    text = run("--engine", engine, "--epochs", "8", "--kill", str(killed), env=env)
    assert len(losses(text)) == 8 and accuracy(text) > 0.93
    if killed:
        assert "epoch 3: worker 1 ended, as " in text and "epoch  8/8 on 1 workers" in text
    else:
        assert "epoch  8/8 on 2 workers" in text
