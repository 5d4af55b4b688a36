"""The example of an operator with a derivative trains, and its line is right.

Suspect examples/gradients. test/consumer builds it as users do.
"""

import runpy
import sys

from built import ROOT, plugin_path

import opyard
from opyard import autograd

PROGRAM = ROOT / "examples" / "gradients" / "train.py"


def test_X31_an_operator_of_cpp_with_a_line_of_text_trains_from_python(monkeypatch, capsys):
    library = plugin_path("opyard_gradients_example")
    monkeypatch.setattr(sys, "argv", [str(PROGRAM), str(library)])
    runpy.run_path(str(PROGRAM), run_name="__main__")
    assert capsys.readouterr().out.startswith("loss 0.")

    softsign = opyard.ops.gradients.softsign
    assert autograd.formulas(softsign.default) == [("x", "grad / ((abs(x) + 1) * (abs(x) + 1))")]
    x = opyard.tensor([-2.0, 0.5, 4.0]).requires_grad_()
    softsign(x).sum().backward()
    for value, slope in zip(x.tolist(), x.grad.tolist(), strict=True):
        assert abs(slope - 1 / (1 + abs(value)) ** 2) < 1e-6
