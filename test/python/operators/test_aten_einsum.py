"""test_aten_einsum.py: sums of products by an equation. Suspect kernels/src/matrix/einsum.cpp."""

import random

import numpy as np
import pytest

import opyard
from opyard import autograd

aten = opyard.ops.aten
SIZES = {"a": 2, "b": 3, "c": 4, "d": 1, "e": 2, "f": 3}


def array(*shape, seed=0):
    return np.random.default_rng(seed).integers(-4, 5, shape).astype("float64")


def arrays(equation):
    """An array for each input, with an ellipsis of two dimensions."""
    dims = {**SIZES, ".": None}
    for seed, part in enumerate(equation.split("->")[0].replace(" ", "").split(",")):
        letters, skipped = part.replace("...", ""), part.partition("...")
        shape = [SIZES[letter] for letter in skipped[0]]
        shape += [2, 3] if "..." in part else []
        shape += [dims[letter] for letter in skipped[2]]
        assert len(shape) == len(letters) + 2 * ("..." in part)
        yield array(*shape, seed=seed)


EQUATIONS = [
    "ab->ba",
    "ab",
    "ba",
    "ab->",
    "ab->a",
    "ae->",
    "aa->a",
    "aa",
    "aab->ba",
    "a,b->ab",
    "a,a->",
    "a,a->a",
    "ab,bc->ac",
    "ab,bc",
    "ab,cb->ca",
    "bac,bcf->baf",
    "ab,cd->",
    "ab,ab,ab->a",
    "ab,bc,ca->",
    "ab,bc,cd,de->ae",
    "abc,c,b->a",
    "...ab,...bc->...ac",
    "...ab,bc->...ac",
    "a...,a...->...",
    "...,...",
    "...a",
    "a...->...a",
    " b c , c a -> a b ",
    "aef,bef->ab",
    "bb,bb->b",
    ",->",
    "a,->a",
]


def same(result, expected):
    assert result.shape == np.shape(expected)
    np.testing.assert_allclose(result.numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("equation", EQUATIONS)
def test_it_is_what_numpy_gives(equation):
    inputs = list(arrays(equation))
    result = aten.einsum(equation, [opyard.from_numpy(each) for each in inputs])
    same(result, np.einsum(equation.replace(" ", ""), *inputs))


@pytest.mark.parametrize("seed", range(60))
def test_random_equations_are_what_numpy_gives(seed):
    rng = random.Random(seed)
    inputs = [
        "".join(rng.choices("abcdef", k=rng.randrange(4))) for _ in range(rng.randrange(1, 4))
    ]
    letters = sorted(set("".join(inputs)))
    output = "".join(rng.sample(letters, rng.randrange(len(letters) + 1)))
    equation = ",".join(inputs) + rng.choice(["", f"->{output}"])
    values = list(arrays(equation))
    result = aten.einsum(equation, [opyard.from_numpy(each) for each in values])
    same(result, np.einsum(equation, *values))


def test_a_dimension_of_one_meets_a_longer_one():
    for shapes in ([(3, 1), (4, 2)], [(3, 4), (1, 2)], [(1, 1), (4, 2)], [(3, 1), (1, 2)]):
        a, b = (array(*shape, seed=i) for i, shape in enumerate(shapes))
        inner = max(shapes[0][1], shapes[1][0])
        wide = np.broadcast_to(a, (a.shape[0], inner)), np.broadcast_to(b, (inner, b.shape[1]))
        result = aten.einsum("ab,bc->ac", [opyard.from_numpy(a), opyard.from_numpy(b)])
        same(result, wide[0] @ wide[1])


def test_an_ellipsis_may_skip_as_many_dimensions_as_a_tensor_has():
    a, b = array(5, 2, 3), array(3, seed=1)
    result = aten.einsum("...a,...a->...", [opyard.from_numpy(a), opyard.from_numpy(b)])
    same(result, a @ b)
    # Without one in the output its dimensions are summed.
    same(aten.einsum("...a->a", [opyard.from_numpy(a)]), a.sum((0, 1)))


def test_upper_case_comes_before_lower_case_in_an_output_that_is_not_written():
    a = array(2, 3)
    same(aten.einsum("aB", [opyard.from_numpy(a)]), a.T)


def test_a_path_says_which_tensors_are_joined():
    values = list(arrays("ab,bc,cd->ad"))
    tensors = [opyard.from_numpy(each) for each in values]
    expected = np.einsum("ab,bc,cd->ad", *values)
    for path in ([0, 1, 0, 1], [1, 2, 0, 1], [2, 0, 1, 0]):
        same(aten.einsum("ab,bc,cd->ad", tensors, path=path), expected)


def test_integers_and_nothing():
    a, b = np.arange(6).reshape(2, 3), np.arange(12).reshape(3, 4)
    result = aten.einsum("ab,bc", [opyard.from_numpy(a), opyard.from_numpy(b)])
    assert result.dtype is opyard.int64 and result.tolist() == (a @ b).tolist()
    empty = [opyard.zeros(2, 0), opyard.zeros(0, 3)]
    assert aten.einsum("ab,bc", empty).tolist() == [[0] * 3] * 2


@pytest.mark.parametrize(
    ("equation", "shapes"),
    [
        ("ab,bc->ca", [(2, 3), (3, 2)]),
        ("aa,ab->b", [(2, 2), (2, 3)]),
        ("abc,b->ac", [(2, 1, 2), (3,)]),
        ("a,ab,b->", [(2,), (2, 3), (3,)]),
        ("...a,a->...", [(2, 2, 3), (3,)]),
    ],
)
def test_X31_gradients_are_those_of_its_parts(equation, shapes):
    leaves = [
        opyard.from_numpy(array(*shape, seed=i) / 4 + 0.1).requires_grad_()
        for i, shape in enumerate(shapes)
    ]
    assert autograd.gradcheck(lambda *each: aten.einsum(equation, list(each)), leaves)
    assert autograd.gradgradcheck(lambda *each: aten.einsum(equation, list(each)), leaves)


def test_on_meta_it_has_the_sizes_alone():
    a, b = opyard.ops.aten.empty([5, 2, 3], device="meta"), aten.empty([5, 3, 4], device="meta")
    result = aten.einsum("abc,acd->bad", [a, b])
    assert str(result.device) == "meta" and result.shape == (2, 5, 4)


@pytest.mark.parametrize(
    ("equation", "shapes", "error", "words"),
    [
        ("ab,bc", [(2, 3)], TypeError, "names 2 tensors, and 1 is given"),
        ("a1", [(2, 3)], ValueError, "with '1' in it"),
        ("a.b", [(2, 3)], ValueError, "with '.' in it"),
        ("...a...", [(2, 3)], ValueError, "with two '...' for one tensor"),
        ("ab->c", [(2, 3)], ValueError, "'c' in the output, which no tensor has"),
        ("ab->aa", [(2, 3)], ValueError, "'a' in the output, which comes twice there"),
        ("aa", [(2, 3)], ValueError, "'a' comes twice for a tensor"),
        ("abc", [(2, 3)], ValueError, "names 3 dimensions of a tensor"),
        ("a", [(2, 3)], ValueError, "names 1 dimension of a tensor"),
        ("ab,bc", [(2, 3), (2, 4)], ValueError, "'b' is 3 in one tensor and 2 in another"),
    ],
)
def test_wrong_equations_say_what_is_wrong(equation, shapes, error, words):
    with pytest.raises(error, match="aten::einsum: .*") as raised:
        aten.einsum(equation, [opyard.zeros(*shape) for shape in shapes])
    assert words in str(raised.value)


@pytest.mark.parametrize("path", [[0], [0, 0], [0, 2], [-1, 0], [0, 1, 0, 1]])
def test_wrong_paths(path):
    with pytest.raises(ValueError, match=r"aten::einsum: path is \["):
        aten.einsum("ab,bc", [opyard.zeros(2, 3), opyard.zeros(3, 2)], path=path)
