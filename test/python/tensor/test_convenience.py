"""Protects convenience forms of tensor calls: sizes one by one, names, numbers.

Suspect operators/binding.cpp, objects/tensor/tensor_construct.cpp, opyard/_tensor/factories.py.
"""

import pytest

import opyard

aten = opyard.ops.aten


@pytest.fixture
def y():
    return aten.arange(6).reshape([2, 3])


def test_sizes_one_by_one(y):
    assert y.reshape(3, 2).shape == (3, 2)
    assert y.reshape(-1).shape == (6,)
    assert y.view(3, -1).shape == (3, 2)
    assert y.permute(1, 0).tolist() == y.T.tolist()
    assert y.reshape(1, 2, 3).expand(4, 2, 3).shape == (4, 2, 3)
    assert aten.reshape(y, 3, 2).shape == aten.reshape.default(y, 3, 2).shape == (3, 2)
    assert y.reshape([3, 2]).shape == (3, 2)


def test_what_is_no_list_of_ints_is_refused_as_before(y):
    with pytest.raises(TypeError, match=r"reshape\(\) takes 2 positional argument\(s\) but 3"):
        y.reshape(3, "2")
    with pytest.raises(TypeError, match=r"takes 2 positional argument\(s\) but 3"):
        y.reshape(3, True)


def test_factories_have_the_names_that_people_try():
    assert opyard.zeros(2, 3).tolist() == [[0.0] * 3] * 2
    assert opyard.ones([2], dtype=opyard.int64).tolist() == [1, 1]
    assert opyard.empty(2, device="meta").device.type == "meta"
    assert opyard.full(2, 7).tolist() == opyard.full([2], 7).tolist() == [7, 7]
    assert opyard.arange(1, 4).tolist() == [1, 2, 3]
    assert opyard.eye(2).tolist() == [[1.0, 0.0], [0.0, 1.0]]
    one = opyard.ones(1)
    assert opyard.cat([one, one]).shape == (2,)
    assert opyard.stack([one, one]).shape == (2, 1)
    assert opyard.where(opyard.tensor([True, False]), 1.5, 0).tolist() == [1.5, 0.0]


def test_what_is_made_may_ask_for_a_gradient_at_once():
    made = (
        opyard.tensor([1.0, 2.0], requires_grad=True),
        opyard.zeros(2, requires_grad=True),
        opyard.ones([2], requires_grad=True, dtype=float),
        opyard.empty(2, requires_grad=True),
        opyard.full(2, 7.0, requires_grad=True),
        opyard.arange(2.0, requires_grad=True),
        opyard.eye(2, requires_grad=True),
        opyard.rand(2, requires_grad=True),
        opyard.randn(2, requires_grad=True),
    )
    for one in made:
        assert one.requires_grad
        assert one.is_leaf
        (one * 3).sum().backward()
        assert set(one.grad.flatten().tolist()) == {3.0}
    assert not opyard.tensor([1.0], requires_grad=False).requires_grad
    for refused in (opyard.tensor, opyard.ones):
        with pytest.raises(TypeError, match="can require gradients"):
            refused([1, 2], dtype=opyard.int64, requires_grad=True)


def test_random_factories_repeat_what_a_seed_began():
    opyard.manual_seed(3)
    first = opyard.rand(2, 3), opyard.randn([4], dtype=opyard.float64)
    opyard.manual_seed(3)
    assert opyard.rand(2, 3).tolist() == first[0].tolist()
    assert opyard.randn(4, dtype=float).tolist() == first[1].tolist()
    assert all(0 <= number < 1 for row in first[0].tolist() for number in row)
    assert first[1].dtype is opyard.float64


def test_factories_take_the_classes_of_numbers():
    for kind, dtype in ((float, opyard.float64), (int, opyard.int64), (bool, opyard.bool)):
        for made in (
            opyard.zeros(2, dtype=kind),
            opyard.ones((1, 2), dtype=kind, device="cpu"),
            opyard.empty([2], dtype=kind),
            opyard.full(2, 1, dtype=kind),
            opyard.eye(2, dtype=kind),
        ):
            assert made.dtype is dtype
    assert opyard.arange(2, dtype=float).dtype is opyard.float64
    assert opyard.zeros(2, 3, dtype=None).dtype is opyard.float32
    for wrong in ("flaot32", str, [1]):
        with pytest.raises(TypeError, match=r"^dtype is .*; accepted are .* bool and complex, and"):
            opyard.zeros(2, dtype=wrong)


def test_dtypes_may_be_those_of_numpy():
    np = pytest.importorskip("numpy")
    for name in ("float32", "float64", "float16", "int64", "int32", "uint8", "complex64"):
        wanted = getattr(opyard, name)
        for named in (np.dtype(name), getattr(np, name)):
            assert opyard.tensor([1, 0], dtype=named).dtype is wanted
            assert opyard.ones(2, dtype=named).dtype is wanted
    assert opyard.tensor([1, 0], dtype=np.bool_).tolist() == [True, False]
    assert opyard.tensor(np.ones(2), dtype=np.float32).dtype is opyard.float32
    for wrong in (np.dtype(">f4"), np.dtype("U3"), np.datetime64, np.floating, np.ndarray):
        with pytest.raises(TypeError, match="^dtype is .*; accepted are .* of NumPy"):
            opyard.tensor([1], dtype=wrong)
        with pytest.raises(TypeError, match="^dtype is .*; accepted are .* of NumPy"):
            opyard.zeros(2, dtype=wrong)


def test_tensor_takes_devices_and_the_classes_of_numbers():
    assert opyard.tensor([1], dtype=float).dtype is opyard.float64
    assert opyard.tensor([1.5], dtype=int).dtype is opyard.int64
    assert opyard.tensor([1], dtype=bool).dtype is opyard.bool
    assert opyard.tensor([1], dtype=complex).tolist() == [1 + 0j]
    assert opyard.zeros(2, dtype=complex).dtype is opyard.complex128
    assert opyard.tensor([1], device="cpu").tolist() == [1]
    made = opyard.tensor([[1.0, 2.0]], device=opyard.device("meta"))
    assert (made.shape, made.device.type) == ((1, 2), "meta")
    with pytest.raises(NotImplementedError, match="tensor: device is 'cuda"):
        opyard.tensor([1], device="cuda:0")
    with pytest.raises(TypeError, match="^dtype is <class 'str'>; accepted are dtypes"):
        opyard.tensor([1], dtype=str)
    with pytest.raises(TypeError, match="tensor: device is a int"):
        opyard.tensor([1], device=0)


def test_numbers_are_formatted_and_other_tensors_are_not():
    assert f"{opyard.tensor(1.25):.1f} {opyard.tensor(7):>3}" == "1.2   7"
    assert f"{opyard.tensor([1.0])}" == str(opyard.tensor([1.0]))
    with pytest.raises(TypeError, match="cannot be formatted as '.2f'"):
        f"{opyard.tensor([1.0]):.2f}"


def test_conversions_by_name(y):
    assert y.float().dtype is opyard.float32
    assert y.double().dtype is opyard.float64
    assert y.bool().dtype is opyard.bool
    assert y.long() is y
    assert y.int().dtype is opyard.int32
    assert y.nelement() == 6 and y.cpu() is y
    meta = y.to("meta")
    assert (meta.shape, meta.dtype, meta.device.type) == ((2, 3), opyard.int64, "meta")
    assert meta.to("meta", opyard.float32).dtype is opyard.float32
    assert y.to("cpu") is y
    with pytest.raises(NotImplementedError, match="on meta, which has no elements to copy"):
        meta.to("cpu")


def test_a_number_for_a_tensor_in_arithmetic(y):
    assert aten.add.Tensor(y, 1).dtype is opyard.int64
    assert aten.mul.Tensor(opyard.tensor([1.0]), 2).tolist() == [2.0]
    assert aten.sub.Tensor(y, 1.5).dtype is opyard.float32
    assert y.clone().copy_(7).tolist() == [[7] * 3] * 2
    assert aten.copy_(y.clone(), 2.0).dtype is opyard.int64
    assert aten.add(1, y).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert aten.sub(1.5, y[0]).tolist() == [1.5, 0.5, -0.5]
    with pytest.raises(TypeError, match="Expected a value of type 'Tensor'"):
        aten.maximum.default(y, 1)


def test_names_of_numpy_are_answered_with_ours(y):
    with pytest.raises(TypeError, match="'axis' is called 'dim' here"):
        aten.sum(y, axis=0)


def test_where_as_a_method_takes_the_condition_behind_the_tensor(y):
    """As PyTorch's: the operator takes it first, and would take a tensor of bools for one."""
    aten = opyard.ops.aten
    x, condition = opyard.tensor([1.0, 2.0, 3.0]), opyard.tensor([True, False, True])
    assert x.where(condition, -x).tolist() == [1.0, -2.0, 3.0]
    assert x.where(condition, 0).tolist() == opyard.Tensor.where(x, x != 2, 0).tolist() == [1, 0, 3]
    assert x.where(other=9.0, condition=condition).tolist() == [1.0, 9.0, 3.0]
    bools = opyard.tensor([False, True, True])
    assert bools.where(condition, ~bools).tolist() == [False, False, True]
    assert aten.where(condition, bools, ~bools).tolist() == [False, False, True]
    with pytest.raises(TypeError, match="condition"):
        x.where(x, x)


def test_a_tensor_says_what_its_elements_are():
    kinds = {
        opyard.float16: (True, False),
        opyard.complex64: (False, True),
        opyard.int8: (False,) * 2,
    }
    for dtype, expected in kinds.items():
        x = opyard.empty(2, dtype=dtype)
        assert (x.is_floating_point(), x.is_complex()) == expected


@pytest.mark.parametrize(
    "name", ["empty_like", "zeros_like", "ones_like", "full_like", "rand_like", "randn_like"]
)
def test_what_is_like_a_tensor_on_meta_may_have_elements(name):
    fill = [7.0] if name == "full_like" else []
    for like in (opyard.empty(2, 3, device="meta"), opyard.empty(2, 3, device="meta").t()):
        made = getattr(opyard.ops.aten, name)(like, *fill, device="cpu", dtype=opyard.float64)
        assert made.shape == like.shape and made.dtype == opyard.float64
        assert str(made.device) == "cpu" and made.numpy().size == 6
    fixed = {"zeros_like": 0.0, "ones_like": 1.0, "full_like": 7.0}
    assert name not in fixed or (made.numpy() == fixed[name]).all()
