"""Protects fake kernels that say "n rows": symbolic sizes in factories on meta, and views of them.

Suspect kernels/src/creation/meta.cpp, kernels/src/common/symbolic.cpp, symbolic_results.cpp.
"""

import math
import re

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
    "new_empty": lambda n: aten.empty([2], device="meta").new_empty([n, 3]),
    "new_zeros": lambda n: aten.empty([2], device="meta").new_zeros(n, 3),
    "new_ones": lambda n: aten.empty([2], device="meta").new_ones([n, 3]),
    "new_full": lambda n: aten.empty([2], device="meta").new_full([n, 3], 1.5),
    "new_empty_strided": lambda n: aten.empty([2], device="meta").new_empty_strided([n, 3], [3, 1]),
    "narrow": lambda n: aten.empty([n, 5], device="meta").narrow(1, 1, 3),
    "narrow to n": lambda n: aten.empty([9, 3], device="meta").narrow(0, 2, n),
    "a slice of columns": lambda n: aten.empty([n, 5], device="meta")[:, 1:4],
    "every second column": lambda n: aten.empty([n, 6], device="meta")[:, ::2],
    "a slice of rows": lambda n: aten.empty([n, 3], device="meta")[1:],
    "the first n rows": lambda n: aten.empty([9, 3], device="meta")[:n],
    "a place": lambda n: aten.empty([n, 5, 3], device="meta")[:, -1],
    "a place that is not known": lambda n: aten.empty([5, n, 3], device="meta").select(0, n),
    "squeeze": lambda n: aten.empty([n, 1, 3], device="meta").squeeze(),
    "squeeze one": lambda n: aten.empty([n, 1, 3], device="meta").squeeze(1),
    "squeeze some": lambda n: aten.squeeze.dims(aten.empty([1, n, 3], device="meta"), [0, 1]),
    "flatten": lambda n: aten.empty([n, 2, 3], device="meta").flatten(0, 1),
    "reshape": lambda n: aten.empty([n, 2, 3], device="meta").reshape(-1, 3),
    "unbind": lambda n: aten.empty([n, 2, 3], device="meta").unbind(1)[1],
    "split": lambda n: aten.empty([n, 6], device="meta").split(3, 1)[1],
    "chunk": lambda n: aten.empty([n, 6], device="meta").chunk(2, 1)[0],
    "movedim": lambda n: aten.empty([3, n], device="meta").movedim(0, 1),
    "reshape to n": lambda n: aten.empty([n * 3], device="meta").reshape(n, 3),
    "reshape of columns": lambda n: aten.empty([3, 4], device="meta").t().reshape(n, 3),
    "unflatten": lambda n: aten.unflatten(aten.empty([12], device="meta"), 0, [n, 3]),
    "repeat": lambda n: aten.empty([2, 3], device="meta").repeat(n, 1),
    "repeat a row": lambda n: aten.empty([3], device="meta").repeat(n, 1),
    "tile": lambda n: aten.tile(aten.empty([2, 3], device="meta"), [n, 1]),
    "split at n": lambda n: aten.empty([9, 3], device="meta").split_with_sizes([n, 9 - n])[0],
    "split at sizes": lambda n: aten.split.sizes(aten.empty([9, 3], device="meta"), [2, n])[1],
    "tensor_split at n": lambda n: aten.tensor_split.indices(
        aten.empty([9, 3], device="meta"), [n]
    )[1],
    "empty_permuted": lambda n: aten.empty_permuted([n, 3], [1, 0], device="meta"),
    "new_zeros beside the cpu": lambda n: aten.empty([2]).new_zeros([n, 3], device="meta"),
    "new_empty_strided beside the cpu": lambda n: aten.empty([2]).new_empty_strided(
        [n, 3], [3, 1], device="meta"
    ),
    "pad": lambda n: aten.pad(aten.empty([2, 3], device="meta"), [0, 0, n, 1]),
    "reflection_pad2d": lambda n: aten.reflection_pad2d(
        aten.empty([1, 4, 3], device="meta"), [0, 0, n, n]
    )[0],
    "pad with what is there": lambda n: aten.pad(
        aten.empty([1, 4, 3], device="meta"), [0, 0, n, 0], "replicate"
    )[0],
    "slice_scatter": lambda n: aten.slice_scatter(
        rows(n), aten.empty([2, 3], device="meta"), 0, n - 2, n
    ),
    "select_scatter": lambda n: aten.select_scatter(
        rows(n), aten.empty([3], device="meta"), 0, n - 1
    ),
    "roll": lambda n: aten.roll(rows(n + 1), [n], [1]),
    "tril at n": lambda n: aten.tril(rows(n), n),
    "upsample": lambda n: aten.upsample_nearest2d(aten.empty([1, 1, 2, 2], device="meta"), [n, 3])[
        0, 0
    ],
    "as_strided_": lambda n: aten.empty([90], device="meta").as_strided_([n, 3], [3, 1]),
    "transpose_": lambda n: aten.empty([3, n], device="meta").transpose_(0, 1),
    "squeeze_": lambda n: aten.empty([n, 1, 3], device="meta").squeeze_(),
    "unsqueeze_": lambda n: aten.empty([n, 3], device="meta").unsqueeze_(1)[:, 0],
    "alias": lambda n: aten.alias(aten.empty([n, 3], device="meta")),
    "rand": lambda n: aten.rand([n, 3], device="meta"),
    "randn": lambda n: aten.randn(n, 3, device="meta", dtype=opyard.float64),
    "randint": lambda n: aten.randint(9, [n, 3], device="meta"),
    "randint.low": lambda n: aten.randint(2, 9, [n, 3], device="meta"),
    "randperm": lambda n: aten.randperm(n, device="meta").unsqueeze(1).expand(-1, 3),
    "rand_like": lambda n: aten.rand_like(rows(n)),
    "randn_like": lambda n: aten.randn_like(rows(n)),
    "bernoulli": lambda n: aten.bernoulli(rows(n), 0.5),
    "eye": lambda n: aten.eye(n, 3, device="meta"),
    "square eye": lambda n: aten.eye(n, device="meta") @ rows(n),
    "as_strided": lambda n: aten.as_strided(aten.empty([90], device="meta"), [n, 3], [3, 1], 2),
    "as_strided from n": lambda n: aten.as_strided(rows(n), [n, 3], [1, 1], n),
    "diagonal": lambda n: aten.diagonal(aten.empty([n, 4, 3], device="meta"), 1).t(),
    "expand_as": lambda n: aten.empty([1, 3], device="meta").expand_as(rows(n)),
    "view_as": lambda n: aten.empty([n, 3, 1], device="meta").view_as(rows(n)),
    "reshape_as": lambda n: aten.empty([n, 3, 1], device="meta").reshape_as(rows(n)),
    "clone": lambda n: rows(n).clone(),
    "contiguous": lambda n: rows(n).contiguous(),
    "to": lambda n: rows(n).to(opyard.int64),
    "add a number": lambda n: rows(n) + 1,
    "add": lambda n: rows(n) + rows(n),
    "broadcast": lambda n: rows(n) * aten.empty([3], device="meta", dtype=opyard.float64),
    "broadcast to n": lambda n: aten.empty([1, 3], device="meta") * rows(n),
    "compare": lambda n: rows(n) > 0,
    "exp": lambda n: rows(n).exp(),
    "where": lambda n: aten.where(rows(n) > 0, rows(n), rows(n)),
    "in place": lambda n: rows(n).add_(1).fill_(2).zero_().copy_(rows(n)),
    "tril": lambda n: aten.tril(rows(n)),
    "triu": lambda n: aten.triu(rows(n), 1),
    "sum": lambda n: aten.empty([n, 2, 3], device="meta").sum(1),
    "sum and keep": lambda n: aten.empty([n, 2, 3], device="meta").sum([1], True)[:, 0],
    "mean": lambda n: aten.empty([2, n, 3], device="meta").mean(0),
    "amax": lambda n: aten.empty([n, 2, 3], device="meta").amax(1),
    "max": lambda n: aten.max(aten.empty([n, 2, 3], device="meta"), 1)[1],
    "argmin": lambda n: aten.empty([n, 2, 3], device="meta").argmin(1),
    "any": lambda n: aten.any(aten.empty([n, 2, 3], device="meta"), 1),
    "mm": lambda n: rows(n).mm(aten.empty([3, 3], device="meta")),
    "addmm": lambda n: aten.addmm(
        aten.empty([3], device="meta"), rows(n), aten.empty([3, 3], device="meta")
    ),
    "mv": lambda n: aten.empty([n, 5], device="meta").mv(aten.empty([5], device="meta"))[:, None]
    * aten.empty([3], device="meta"),
    "matmul": lambda n: rows(n) @ aten.empty([3, 3], device="meta"),
    "matmul by n": lambda n: aten.matmul(rows(n), aten.empty([n, 3], device="meta")),
    "matmul of a batch": lambda n: (aten.empty([2, n, 5], device="meta") @ fives())[1],
    "matmul of batches": lambda n: (aten.empty([n, 1, 5], device="meta") @ fives()[None])[:, 0],
    "matmul of n batches": lambda n: (aten.empty([5], device="meta") @ fives().expand(n, 5, 3)),
    "bmm": lambda n: (aten.empty([2, n, 5], device="meta").bmm(fives().expand(2, 5, 3)))[0],
    "linear": lambda n: aten.linear(
        rows(n), aten.empty([3, 3], device="meta"), aten.empty([3], device="meta")
    ),
}


def rows(n):
    return aten.empty([n, 3], device="meta")


def fives():
    return aten.empty([5, 3], device="meta")


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


def test_a_part_says_how_many_rows_are_left(define, library, ns):
    seen = []

    def body(n):
        made = aten.empty([n, 6], device="meta")
        name = str(n)
        for part in (made[1:], made[:2], made[-2:], made[::2], made[2:n], made[:, 2:]):
            seen.append(str(part.shape[0]).replace(name, "n"))
        assert made[:, ::2].shape[1] == made[:, 1:4].shape[1] == 3
        assert made[:, ::2].stride() == (6, 2) and made[:, 1].stride() == (6,)
        assert made[:, 2:].storage_offset() == made.narrow(1, -4, 2).storage_offset() == 2
        return made

    in_fake(define, library, ns, body)
    assert seen == [
        "((n - (1 min n)) max 0)",
        "(2 min n)",
        "((n - ((n + -2) max 0)) max 0)",
        "((n + 1) // 2)",
        "(((n min n) - (2 min n)) max 0)",
        "n",
    ]


def test_what_cannot_be_told_is_refused_by_its_operator(define, library, ns):
    def refused(call, words, kind=ValueError):
        with pytest.raises(kind, match=words):
            call()

    def body(n):
        made = aten.empty([n, 3], device="meta")
        unknown = r"the size of dimension 0 of self is u\d+, which the elements tell"
        refused(lambda: made.unbind(0), "^aten::unbind.int: " + unknown)
        refused(lambda: made.split(2), "^aten::split.Tensor: " + unknown)
        refused(lambda: made.chunk(2), "^aten::chunk: " + unknown)
        refused(lambda: made[:, 7], "^aten::select.int: index is 7, out of range", IndexError)
        refused(lambda: made[:, -4], "dimension 1 of self, whose size is 3", IndexError)
        refused(lambda: made.narrow(1, 2, 2), "^aten::narrow: start 2 and length 2", IndexError)
        refused(lambda: made[::-1], "step -1")
        refused(
            lambda: len(made), r"a tensor of u\d+ rows is not possible, .*; x.shape\[0\] gives it$"
        )
        assert len(made.new_empty([2, n])) == 2
        refused(lambda: aten.slice(made, 0, n, None, 0), "^aten::slice.Tensor: step is 0")
        refused(lambda: aten.rand([n]), r"got SymInt u\d+, a number that is not", TypeError)
        four = aten.empty([4], device="meta")
        refused(
            lambda: made + four,
            "^aten::add.Tensor: self is .* and other is float32.4., which do not ",
        )
        refused(lambda: made.add_(four), "^aten::add_.Tensor: self is ")
        refused(lambda: made.copy_(four), "^aten::copy_: src is float32.4. and does not fit self")
        refused(lambda: made.mm(made.new_empty([4, 2])), "^aten::mm: self is ")
        refused(lambda: made @ four, "^aten::matmul: self is ")
        refused(lambda: made.new_empty([2, n, 3]) @ made.new_empty([3, 3, 2]), "^aten::matmul: ")
        refused(lambda: aten.addmm(four, made, made.new_empty([3, 2])), "^aten::addmm: self is ")
        refused(lambda: aten.as_strided(made, [n], []), "^aten::as_strided: there are 1 sizes and")
        integers = {"dtype": opyard.int64, "device": "meta"}
        refused(lambda: aten.rand([n], **integers), "^aten::rand: ", NotImplementedError)
        return made

    in_fake(define, library, ns, body)


def test_a_kernel_that_takes_known_sizes_is_named_with_its_argument(define, library, ns):
    def refused(call, kind, words):
        with pytest.raises(kind) as raised:
            call()
        assert words in re.sub(r"u\d+", "n", str(raised.value))

    inner = define("inner(Tensor x, SymInt[] sizes, SymInt k=0) -> Tensor")
    outer = define("outer(Tensor x) -> Tensor", CompositeImplicitAutograd=lambda x: x.flip([0]))
    of_kernel = ", and the kernel of this call takes "
    sizes = f"{of_kernel}sizes that are known: Cannot call sizes on a tensor with symbolic"

    def body(n):
        x, places = rows(n), aten.empty([n], device="meta", dtype=opyard.int64)
        refused(
            lambda: x.flip([0]), ValueError, "aten::flip: self is float32[n, 3] on meta" + sizes
        )
        refused(
            lambda: aten.cat([aten.empty([2, 3], device="meta"), x]),
            ValueError,
            "aten::cat: tensors[1] is float32[n, 3] on meta" + sizes,
        )
        refused(
            lambda: aten.index_select.default(aten.empty([9], device="meta"), dim=0, index=places),
            ValueError,
            "aten::index_select: index is int64[n] on meta" + of_kernel,
        )
        refused(lambda: aten.repeat(x, 2, 1), ValueError, "aten::repeat: self is float32[n, 3]")
        # What a kernel in Python calls is named, not what called it.
        refused(lambda: outer(x), ValueError, "aten::flip: self is float32[n, 3]")
        number = f" is a SymInt{of_kernel}an int: expected Int but got SymInt n"
        nine = aten.empty([9], device="meta")
        refused(lambda: aten.topk(nine, n), TypeError, "aten::topk: k" + number)
        refused(lambda: aten.topk.default(nine, k=n), TypeError, "aten::topk: k" + number)
        refused(lambda: aten.zeros([2, n]), TypeError, "aten::zeros: size[1]" + number)
        refused(lambda: aten.zeros(2, n), TypeError, "aten::zeros: size" + number)
        # The error of a Python kernel goes through as it is.
        library.impl("inner", lambda x, sizes, k=0: failing(), "Meta")
        refused(lambda: inner(x, [n], n), ValueError, "Cannot call it mine")
        return x

    def failing():
        raise ValueError("Cannot call it mine")

    in_fake(define, library, ns, body)


def test_a_result_without_the_size_that_is_not_known_is_plain(define, library, ns):
    def body(n):
        made = rows(n)
        assert (
            made.sum(0).shape
            == made.t().mm(made)[0].shape
            == (*aten.dot(made[0], made[1]).shape, 3)
        )
        assert made.sum().shape == aten.norm(made).shape == made.max().shape == ()
        assert (made + 1).strides == (3, 1) and (made * made.t().t()).strides == (3, 1)
        # The known size is the result's.
        assert (made + aten.empty([7, 3], device="meta")).shape == (7, 3)
        assert (aten.empty([7, 3], device="meta") + made).shape == (7, 3)
        assert str(aten.diagonal(made, -2).shape[0]).endswith("+ -2) max 0) min 3)")
        return made

    in_fake(define, library, ns, body)


def test_what_is_new_beside_a_meta_tensor_may_be_elsewhere():
    meta = aten.empty([2], device="meta", dtype=opyard.float64)
    made = meta.new_full([2], 7, device="cpu")
    assert (made.tolist(), made.dtype) == ([7.0, 7.0], opyard.float64)
    assert meta.new_zeros(3, dtype=opyard.int8).dtype is opyard.int8
    assert meta.new_empty_strided([2, 3], [1, 2]).strides == (1, 2)


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


def test_a_range_to_a_number_that_is_not_known(define, library, ns):
    seen = {}

    def body(n):
        name = str(n)
        made = {
            "end": opyard.arange(n, device="meta"),
            "bounds": opyard.arange(2, n, device=opyard.device("meta")),
            "step": opyard.arange(0, n, 3, device="meta", dtype=opyard.float32),
            "down": opyard.arange(n, 0, -2, device="meta"),
            "twice": opyard.arange(n + n, device="meta"),
        }
        for what, tensor in made.items():
            assert tensor.device.type == "meta" and tensor.dim() == 1
            seen[what] = (tensor.dtype, str(tensor.shape[0]).replace(name, "n"))
        with pytest.raises(
            TypeError, match=r"^arange: the bounds are 0.5, u\d+ and the step is 1; "
        ):
            opyard.arange(0.5, n, device="meta")
        with pytest.raises(RuntimeError, match=r"asks for the value of u\d+, which depends on"):
            opyard.arange(n)  # there are no elements without the number
        with pytest.raises(TypeError) as raised:
            aten.arange(n, device="meta")
        assert "a SymInt; opyard.arange() takes one on meta." in str(raised.value)
        with pytest.raises(TypeError, match="SymInt and SymInt.. take a SymInt.$"):
            aten.full([2], n, device="meta")
        return made["end"]

    in_fake(define, library, ns, body)
    whole = opyard.int64
    assert seen == {
        "end": (whole, "n"),
        "bounds": (whole, "(n - 2)"),
        "step": (opyard.float32, "neg(((0 - n) // 3))"),
        "down": (whole, "neg(((n - 0) // -2))"),
        "twice": (whole, "(n + n)"),
    }


@pytest.mark.parametrize("bounds", [(7,), (2, 7), (0, 7, 3), (7, 0, -2), (0, 6, 3), (6, 0, -3)])
def test_the_length_of_a_range_is_that_of_its_elements(bounds):
    """By numbers that are known, which symbolic ones compute with as with others."""
    start, end, step = (0, *bounds, 1) if len(bounds) == 1 else (*bounds, 1)[:3]
    from opyard._tensor.factories import _range_without_elements

    made = _range_without_elements(start, end, step, device="meta")
    assert made.shape == opyard.arange(*bounds).shape
