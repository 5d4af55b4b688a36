"""test_nn_beside_pytorch.py: layers compute what PyTorch's of the same name and weights compute.

Each line of nn_cases.txt is a layer, what it is called with, and PyTorch's answers as sums. Where
PyTorch is installed, all elements of outputs, gradients and buffers are compared, and names in a
state and repr(), too. Suspect the file of the layer in opyard/_nn. New lines get their answers by
test/torch/nn_answers.py.
"""

import re

import pytest

import opyard
from opyard import nn

np = pytest.importorskip("numpy")

from nn_cases import Opyard, Torch, cases, digest  # noqa: E402

pytestmark = pytest.mark.once

CASES = cases()
# Not in the table: without a forward(), or random alone.
ELSEWHERE = {
    "Module",
    "ModuleDict",
    "ModuleList",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "Sequential",
}


def test_every_layer_is_in_the_table():
    assert {*ELSEWHERE, *(case.name for case in CASES)} == {*nn.__all__} - {"init", "utils"}


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_layer_gives_the_answers_of_pytorch(case):
    runs, _ = case.run(Opyard())
    assert case.answers is not None, "run test/torch/nn_answers.py"
    np.testing.assert_allclose(digest(runs), case.answers, rtol=1e-6, atol=1e-7)


# PyTorch shows no sizes of an attention; constants of float32 in its formulas need the tolerance.
SAYS_MORE = re.compile(r"\(self_attn\): |\(multihead_attn\): |^MultiheadAttention|^Parameter")


@pytest.mark.parametrize("case", CASES, ids=repr)
def test_a_layer_is_as_in_pytorch(case):
    pytest.importorskip("torch", reason="PyTorch is not installed")
    runs, ours = case.run(Opyard())
    wanted, theirs = case.run(Torch())
    for run, other in zip(runs, wanted, strict=True):
        for kind, found in run.items():
            assert len(found) == len(other[kind]), kind
            for one, two in zip(found, other[kind], strict=True):
                assert one.shape == two.shape and one.dtype == two.dtype, kind
                np.testing.assert_allclose(one, two, rtol=5e-8, atol=1e-10, err_msg=kind)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert [name for name, _ in ours.named_parameters()] == [
        name for name, _ in theirs.named_parameters()
    ]
    if not SAYS_MORE.search(repr(theirs)):
        assert repr(ours) == repr(theirs)


def test_one_seed_gives_the_same_weights_and_a_copy_gives_the_same_results():
    for case in CASES[::7]:
        library = Opyard()
        opyard.manual_seed(3)
        runs, layer = case.run(library)
        opyard.manual_seed(3)
        again, _ = case.run(library)
        for run, other in zip(runs, again, strict=True):
            for one, two in zip(run["outputs"], other["outputs"], strict=True):
                np.testing.assert_array_equal(one, two)
