"""test_published_aten.py: opcheck passes for aten, published under another name.

Suspect what test/torch/published_operators.py prints.
"""

import subprocess
import sys

import pytest
from built import ROOT
from frameworks import require

require("torch")
pytestmark = pytest.mark.once


def test_X33_opcheck_passes_for_the_operators_of_aten():
    done = subprocess.run(
        [sys.executable, ROOT / "test/torch/published_operators.py", "--least", "420"],
        capture_output=True,
        text=True,
        timeout=1200,
    )
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-2000:]
