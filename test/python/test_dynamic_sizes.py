"""Protects fake kernels that say "n rows": symbolic sizes in factories on meta, and views of them.

Suspect kernels/src/creation/meta.cpp, kernels/src/common/symbolic.cpp.
"""

import math

import pytest

import opyard
from opyard import SymBool, SymFloat, SymInt
from opyard.library import get_ctx, opcheck, register_fake

aten = opyard.ops.aten


def in_fake(define, library, ns, body):
    """What a fake kernel gives that runs `body` with a size that is not known."""
    name = f"rows{in_fake.count}"
    in_fake.count += 1
    op = define(f"{name}(Tensor x) -> Tensor")
    register_fake(f"{ns}::{name}", lambda x: body(get_ctx().new_dynamic_size()), lib=library)
    return op(aten.empty([2, 3], device="meta"))


in_fake.count = 0

MADE = {
    "empty": lambda n: aten.empty([n, 3], device="meta"),
    "zeros": lambda n: aten.zeros([n, 3], device="meta", dtype=opyard.int64),
    "ones": lambda n: aten.ones(n, 3, device="meta"),
    "full": lambda n: aten.full([n, 3], 1.5, device="meta"),
    "empty_strided": lambda n: aten.empty_strided([n, 3], [3, 1], device="meta"),
    "zeros_like": lambda n: aten.zeros_like(aten.empty([n, 3], device="meta")),
    "unsqueeze": lambda n: aten.empty([n, 3], device="meta").unsqueeze(0)[0],
    "transpose": lambda n: aten.empty([3, n], device="meta").transpose(0, 1),
    "permute": lambda n: aten.empty([3, n], device="meta").permute(1, 0),
    "view": lambda n: aten.empty([n * 3], device="meta").view(n, 3),
    "expand": lambda n: aten.empty([n, 1], device="meta").expand(n, 3),
    "alias": lambda n: aten.alias(aten.empty([n, 3], device="meta")),
}


@pytest.mark.parametrize("name", MADE)
def test_a_size_that_is_not_known(name, define, library, ns):
    made = in_fake(define, library, ns, MADE[name])
    assert len(made.shape) == 2
    assert type(made.shape[0]) is SymInt
    assert made.shape[1] == 3
    assert made.device.type == "meta"


@pytest.mark.parametrize(
    ("compute", "kind"),
    [
        (lambda n: n + 1, SymInt),
        (lambda n: n // 2, SymInt),
        (lambda n: -n, SymInt),
        (lambda n: n / 2, SymFloat),
        (lambda n: -(n / 2), SymFloat),
        (lambda n: n * 1.5, SymFloat),
        (lambda n: math.floor(n / 2), SymInt),
        (lambda n: math.ceil(n * 1.5), SymInt),
        (lambda n: n > 2, SymBool),
        (lambda n: ~(n > 2), SymBool),
    ],
)
def test_a_number_made_of_a_size_has_the_type_that_it_has_in_python(
    compute, kind, define, library, ns
):
    made = []

    def body(n):
        made.append(compute(n))
        return aten.empty([n], device="meta")

    in_fake(define, library, ns, body)
    assert [type(each) for each in made] == [kind]


def test_plain_sizes_on_meta_stay_plain():
    made = aten.zeros([2, 3], device="meta")
    assert (made.shape, made.strides) == ((2, 3), (3, 1))
    assert aten.empty_strided([2, 3], [1, 2]).strides == (1, 2)
    assert made.view(3, 2).shape == (3, 2) and made.expand(4, 2, 3).shape == (4, 2, 3)
    with pytest.raises(ValueError, match="a size must be 0 or more"):
        aten.zeros([-2], device="meta")


def test_an_operator_with_rows_that_elements_tell_passes_opcheck(define, library, ns):
    op = define("kept(Tensor x) -> Tensor", CPU=lambda x: x[x > 0])
    register_fake(
        f"{ns}::kept",
        lambda x: aten.empty([get_ctx().new_dynamic_size()], device="meta"),
        lib=library,
    )
    results = opcheck(op, (opyard.tensor([1.0, -1.0]),))
    assert set(results.values()) == {"SUCCESS"}
