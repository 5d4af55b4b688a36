"""test_views_in_place.py: t_, transpose_, squeeze_ and other views that a tensor becomes itself.

Suspect kernels/src/geometry/view_in_place.cpp, dispatcher/src/tensor/resize.cpp; of gradients
autograd/src/tape/tape.cpp, [Sizes]; of wrappers pyfallback/objects/convert/wrapper_sizes.cpp.
"""

import pytest

import opyard
from opyard import Tag, Tensor, autograd, jit

pytestmark = pytest.mark.memory

aten = opyard.ops.aten

# The operator in place, its arguments behind the tensor, and sizes for which it is no no-op.
IN_PLACE = [
    ("t_", (), [2, 3]),
    ("t_", (), [3]),
    ("transpose_", (0, -1), [2, 3, 4]),
    ("swapaxes_", (0, 1), [2, 3]),
    ("swapdims_", (1, 2), [2, 3, 4]),
    ("squeeze_", (), [1, 2, 1, 3]),
    ("squeeze_", (), [2, 3]),
    ("squeeze_", (0,), [1, 2, 3]),
    ("squeeze_", ([0, 2],), [1, 2, 1]),
    ("unsqueeze_", (1,), [2, 3]),
    ("unsqueeze_", (-1,), [2, 3, 1, 4, 2]),
    ("as_strided_", ([2, 2], [1, 2]), [2, 3]),
    ("as_strided_", ([2], [2], 1), [2, 3]),
]
IDS = [f"{name}{args} of {sizes}" for name, args, sizes in IN_PLACE]
each = pytest.mark.parametrize(("name", "args", "sizes"), IN_PLACE, ids=IDS)


def numbers(sizes, **options):
    count = 1
    for size in sizes:
        count *= size
    values = opyard.tensor([float(i + 1) for i in range(count)], dtype=opyard.float64)
    return opyard.tensor(values.reshape(sizes).tolist(), dtype=opyard.float64, **options)


def geometry(x):
    return tuple(x.shape), tuple(x.strides), x.storage_offset(), x.is_contiguous(), x.numel()


def of_view(name, x, args):
    return getattr(x, name[:-1])(*args)


@each
def test_the_tensor_becomes_the_view(name, args, sizes):
    x = numbers(sizes)
    wanted = of_view(name, x, args)
    version = x._version
    assert getattr(x, name)(*args) is x
    assert geometry(x) == geometry(wanted)
    assert x.tolist() == wanted.tolist()
    assert x.data_ptr() == wanted.data_ptr()
    assert x._version == version + 1
    x.add_(1)
    assert wanted.tolist() == x.tolist()


@each
def test_meta_is_as_the_cpu(name, args, sizes):
    x, meta = numbers(sizes), aten.empty(sizes, device="meta")
    getattr(x, name)(*args)
    assert getattr(meta, name)(*args) is meta
    assert geometry(meta) == geometry(x)


def test_the_tags_and_names_are_those_of_pytorch():
    for name in {name for name, *_ in IN_PLACE} | {"resize_", "resize_as_", "detach_"}:
        packet = getattr(aten, name)
        for overload in packet.overloads():
            op = getattr(packet, overload)
            assert Tag.inplace_view in op.tags, op.name()
            assert str(op._schema).endswith("-> Tensor(a!)"), op.name()
    assert sorted(aten.squeeze_.overloads()) == ["default", "dim", "dims"]


def test_a_view_becomes_another_and_what_it_is_of_stays():
    base = numbers([2, 2, 3])
    row = base[1]
    row.t_().mul_(10)
    assert (tuple(row.shape), row.storage_offset()) == ((3, 2), 6)
    assert tuple(base.shape) == (2, 2, 3)
    assert base[1].tolist() == [[70.0, 80.0, 90.0], [100.0, 110.0, 120.0]]


def test_many_dimensions_are_added_and_dropped():
    x = numbers([2, 3])
    for _ in range(8):
        x.unsqueeze_(0)
    assert tuple(x.shape) == (1,) * 8 + (2, 3)
    assert tuple(x.squeeze_().shape) == (2, 3)
    assert x.tolist() == numbers([2, 3]).tolist()


@pytest.mark.parametrize(
    ("call", "kind", "message"),
    [
        (lambda: numbers([2, 3, 4]).t_(), ValueError, "aten::t_: self is .* at most two dim"),
        (lambda: numbers([2]).transpose_(0, 1), IndexError, "aten::transpose_: dim"),
        (lambda: numbers([2]).unsqueeze_(3), IndexError, "aten::unsqueeze_: dimension 3"),
        (lambda: numbers([2]).squeeze_(1), IndexError, "aten::squeeze_.dim: dim"),
        (lambda: numbers([2]).swapaxes_(0, 1), IndexError, "aten::swapaxes_: dim"),
        (lambda: numbers([2]).as_strided_([9], [1]), ValueError, "aten::as_strided_: "),
    ],
)
def test_what_is_refused_changes_nothing(call, kind, message):
    with pytest.raises(kind, match=message):
        call()
    x = numbers([2])
    version = x._version
    with pytest.raises(ValueError, match="as_strided_"):
        x.as_strided_([2, 9], [1, 1])
    assert (geometry(x), x._version) == (geometry(numbers([2])), version)


def test_resize_as_takes_the_sizes_of_another():
    x = numbers([6])
    assert x.resize_as_(numbers([2, 3]).t()) is x
    assert geometry(x) == geometry(numbers([3, 2]))
    with pytest.raises(ValueError, match="aten::resize_as_: .*cannot grow"):
        x[:1].resize_as_(numbers([40]))
    with pytest.raises(Exception, match="resize_as_"):
        x.requires_grad_().resize_as_(numbers([6]))


def test_an_array_of_another_library_keeps_its_sizes():
    np = pytest.importorskip("numpy")
    array = np.ones((2, 3))
    with pytest.raises(ValueError, match="aten::t_: the memory of .* is borrowed for this call"):
        aten.t_(array)
    assert array.shape == (2, 3)
    x = opyard.from_numpy(array)
    assert tuple(x.t_().shape) == (3, 2)
    assert x.numpy().strides == (8, 24)


# Gradients -----------------------------------------------------------------------------------


def weights(x):
    return numbers(list(x.shape)) * 0.5 - 3.0


@each
def test_gradients_are_those_of_the_view(name, args, sizes):
    leaf, same = numbers(sizes, requires_grad=True), numbers(sizes, requires_grad=True)
    y = leaf * leaf
    assert getattr(y, name)(*args) is y
    view = of_view(name, same * same, args)
    assert type(y.grad_fn).__name__ != type((leaf * leaf).grad_fn).__name__ or y.grad_fn is not None
    for x, z in ((leaf, y), (same, view)):
        (z * weights(z)).sum().backward()
        assert x.grad is not None
    assert leaf.grad.tolist() == same.grad.tolist()


@each
def test_gradients_of_a_part_and_of_writes_before_and_after(name, args, sizes):
    def run(change):
        leaf = numbers([2, *sizes], requires_grad=True)
        whole = leaf * 2.0
        other = whole[1]
        whole.mul_(3.0)
        part = whole[1]
        part = change(part)
        early = (other * weights(other)).sum()
        part.mul_(weights(part))
        total = early + (whole * weights(whole)).sum() + (part * part).sum()
        total = total + (other * weights(other)).sum()
        total.backward()
        return whole.tolist(), part.tolist(), leaf.grad.tolist()

    assert run(lambda x: getattr(x, name)(*args)) == run(lambda x: of_view(name, x, args))


@each
def test_views_made_before_keep_their_gradients(name, args, sizes):
    leaf = numbers(sizes, requires_grad=True)
    y = leaf * 1.0
    row = y.reshape([-1])
    getattr(y, name)(*args)
    row.mul_(weights(row))
    (y * weights(y)).sum().backward()
    same = numbers(sizes, requires_grad=True)
    z = (same.reshape([-1]) * weights(row)).reshape(sizes)
    z = of_view(name, z, args)
    (z * weights(z)).sum().backward()
    assert leaf.grad.tolist() == same.grad.tolist()


@each
def test_second_gradients(name, args, sizes):
    def function(x):
        y = x * x
        getattr(y, name)(*args)
        return (y * y * weights(y)).sum()

    x = (numbers(sizes) * 0.1).requires_grad_()
    assert autograd.gradcheck(function, (x,))
    assert autograd.gradgradcheck(function, (x,))


def test_a_tensor_that_was_saved_is_found_to_have_changed():
    x = numbers([2, 3], requires_grad=True)
    y = x * 1.0
    product = y * y
    y.t_()
    with pytest.raises(ValueError, match="modified by an inplace operation"):
        product.sum().backward()
    with opyard.no_grad():
        factor = numbers([2, 3])
        product = x.detach().requires_grad_()
    result = product * factor
    factor.squeeze_()
    with pytest.raises(ValueError, match="modified by an inplace operation"):
        result.sum().backward()


def test_retained_gradients_and_hooks_are_of_the_new_sizes():
    x, seen = numbers([2, 3], requires_grad=True), []
    y = x * 2.0
    y.retain_grad()
    y.t_()
    y.register_hook(lambda gradient: seen.append(tuple(gradient.shape)))
    y.sum().backward()
    assert (tuple(y.grad.shape), seen) == ((3, 2), [(3, 2)])
    assert x.grad.tolist() == [[2.0] * 3] * 2


LEAF = "a leaf Variable that requires grad is being used in an in-place operation. Make a view"


def test_what_would_lose_a_gradient_is_refused():
    leaf = numbers([2, 3], requires_grad=True)
    several = (leaf * 1.0).unbind(0)[0]
    with opyard.no_grad():
        unseen = (leaf * 1.0)[:]
        hidden = leaf[:]
    for x, message in (
        (leaf, LEAF),
        (leaf[:], "a view of a leaf Variable that requires grad is being used in an in-place op"),
        (several, "a view is being modified in place, and it is the output of a function that"),
        (hidden, "made under no_grad"),
    ):
        before = geometry(x)
        for name in ("squeeze_", "unsqueeze_"):
            with pytest.raises(ValueError, match=f"aten::{name}: ") as raised:
                getattr(x, name)(*(() if name == "squeeze_" else (0,)))
            assert message in str(raised.value)
        assert geometry(x) == before
    assert tuple(unseen.t_().shape) == (3, 2)


@pytest.mark.parametrize("mode", [opyard.no_grad, opyard.inference_mode])
def test_without_gradients_a_tensor_that_needs_one_is_refused(mode):
    leaf = numbers([2, 3], requires_grad=True)
    for x in (leaf, leaf * 1.0):
        before, version = geometry(x), x._version
        with (
            mode(),
            pytest.raises(ValueError, match=r"aten::t_: .* needs a gradient, and its sizes"),
        ):
            x.t_()
        assert (geometry(x), x._version) == (before, version)
        with mode():
            assert tuple(x.detach().t_().shape) == (3, 2)


def test_an_expanded_tensor_may_be_turned():
    x = numbers([3], requires_grad=True)
    y = (x * 1.0).expand(2, 3)
    y.t_()
    (y * weights(y)).sum().backward()
    assert x.grad.tolist() == weights(numbers([3, 2])).sum(1).tolist()


def test_an_inference_tensor_is_changed():
    with opyard.inference_mode():
        x = numbers([2, 3])
        assert tuple(x.t_().shape) == (3, 2)
    assert tuple(x.t_().shape) == (2, 3)


# Wrappers and graphs -------------------------------------------------------------------------


class Wrapper(Tensor):
    """Unwraps, calls and wraps."""

    @staticmethod
    def of(inner):
        made = Tensor.make_wrapper_subclass(
            Wrapper, tuple(inner.shape), dtype=inner.dtype, strides=tuple(inner.strides)
        )
        made.inner = inner
        return made

    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        inner = [x.inner if isinstance(x, Wrapper) else x for x in args]
        result = op(*inner, **(kwargs or {}))
        return Wrapper.of(result) if isinstance(result, Tensor) else result


def test_a_wrapper_has_the_sizes_of_what_its_handler_gave():
    x = Wrapper.of(numbers([2, 3]))
    version = x._version
    assert x.t_() is x
    assert (tuple(x.shape), tuple(x.strides)) == ((3, 2), (1, 3))
    assert tuple(x.inner.shape) == (3, 2)
    assert x._version == version + 1
    assert tuple(x.unsqueeze_(0).shape) == (1, 3, 2)
    assert x.mul_(2) is x
    assert x.inner.tolist() == [(numbers([2, 3]) * 2).t().tolist()]


def test_a_wrapper_without_memory_is_refused_where_no_handler_answers():
    from opyard.dispatch import DispatchKeySet, ExcludeDispatchKeyGuard

    x = Wrapper.of(numbers([2, 3]))
    with (
        ExcludeDispatchKeyGuard(DispatchKeySet("Python")),
        pytest.raises(NotImplementedError, match="aten::t_: the sizes of .* are those of its cl"),
    ):
        x.t_()


class Marked(Tensor):
    @classmethod
    def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
        return super().__opyard_dispatch__(op, types, args, kwargs)


def test_a_subclass_with_memory_is_changed():
    x = numbers([2, 3]).as_subclass(Marked)
    assert x.t_() is x
    assert type(x) is Marked
    assert tuple(x.shape) == (3, 2)


def test_graphs_do_not_take_the_sizes_before_for_those_after():
    def function(x):
        y = x * 2
        before = y.size(0)
        y.t_()
        return y + before, y.size(0)

    x = numbers([2, 3])
    graph = jit.trace(lambda x: (x * 2).t_() + 1, (x,))
    assert graph(x).tolist() == ((x * 2).t() + 1).tolist()
    compiled = jit.compile(function)
    for sizes in ([2, 3], [2, 3], [4, 5]):
        x = numbers(sizes)
        result, rows = compiled(x)
        assert (result.tolist(), rows) == ((x * 2 + sizes[0]).t().tolist(), sizes[1])


def test_a_graph_of_an_exported_program_runs():
    graph = jit.parse_ir("""graph(%x : Tensor):
  %zero : int = prim::Constant[value=0]()
  %one : int = prim::Constant[value=1]()
  %two : int = prim::Constant[value=2]()
  %y : Tensor = aten::mul(%x, %two)
  %a : Tensor = aten::transpose_(%y, %zero, %one)
  %b : Tensor = aten::unsqueeze_(%y, %zero)
  %rows : int = aten::size(%y, %one)
  %c : Tensor = aten::squeeze_(%b)
  %d : Tensor = aten::swapaxes_(%c, %zero, %one)
  %e : Tensor = aten::add(%y, %rows, %one)
  return (%e, %a)
""")
    x = numbers([2, 3])
    total, same = jit.compile(graph)(x)
    assert total.tolist() == (x * 2 + 3).tolist()
    assert tuple(same.shape) == (2, 3)
