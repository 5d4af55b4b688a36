"""test_graphs_of_arrays.py: graphs, their codes and states, traced functions and models get arrays.

Results are of the arrays' kind by the rule of operators, docs/guides/arrays.md. Suspect
pyfallback/vtable/run_call.cpp, then objects/convert/foreign_results.cpp.
"""

import gc
import importlib.util
import sys
import weakref

import gradient_library
import numpy as np
import pytest
from array_libraries import LIBRARIES, Exporter, Library
from exported_model import MODEL

import opyard
from opyard import autograd, jit

fake = gradient_library.library


def jax_library():
    import jax
    import jax.numpy as jnp

    return Library(
        "jax",
        lambda values: jnp.asarray(np.array(values, np.float32)),
        jax.Array,
        address=lambda array: array.unsafe_buffer_pointer(),
    )


KINDS = LIBRARIES + ([jax_library()] if importlib.util.find_spec("jax") else [])
every_library = pytest.mark.parametrize("library", KINDS, ids=lambda library: library.name)


def code(text):
    return jit.compile(jit.parse_ir(text))


TWO = """graph(%x : Tensor, %w : Tensor):
  %y : Tensor = aten::mul(%x, %w)
  return (%y)
"""
NESTED = """graph(%x : Tensor):
  %k : str = prim::Constant[value="twice"]()
  %y : Tensor = aten::add(%x, %x)
  %s : int[] = aten::size(%y)
  %l : Tensor[] = prim::ListConstruct(%y, %x)
  %p : (Tensor, int[]) = prim::TupleConstruct(%y, %s)
  %d : Dict(str, Tensor) = prim::DictConstruct(%k, %y)
  return (%y, %s, %l, %p, %d)
"""
WRITES = """graph(%x : Tensor, %y : Tensor):
  %z : Tensor = aten::neg(%y)
  %v : Tensor = aten::t(%x)
  %w : Tensor = aten::add_(%v, %z)
  return (%x, %w)
"""


def values(result):
    return np.asarray(result).tolist() if not hasattr(result, "tolist") else result.tolist()


@every_library
@pytest.mark.parametrize("make", [code, jit.parse_ir], ids=["code", "graph"])
def test_a_result_is_of_the_kind_of_the_array(library, make):
    run = make(TWO)
    x, w = library.make([1.0, 2.0]), library.make([3.0, 4.0])
    for result in (run(x, w), run(x, w=w), run(w=w, x=x), run(x, opyard.tensor([3.0, 4.0]))):
        assert isinstance(result, library.kind), type(result)
        assert values(result) == [3.0, 8.0]


@every_library
def test_the_first_input_that_is_an_array_decides(library):
    run = code(TWO)
    x, w = library.make([1.0, 2.0]), np.float32([3.0, 4.0])
    assert isinstance(run(x, w), library.kind)
    assert isinstance(run(w=w, x=x), library.kind)
    assert type(run(w, x)) is np.ndarray
    assert type(run(opyard.tensor([1.0, 2.0]), w)) is np.ndarray
    assert type(run(opyard.tensor([1.0, 2.0]), opyard.tensor([3.0, 4.0]))) is opyard.Tensor


@every_library
def test_each_of_several_and_nested_results_is(library):
    x = library.make([[1.0, 2.0, 3.0]])
    twice, sizes, (listed, same), (in_tuple, also_sizes), named = code(NESTED)(x)
    assert sizes == also_sizes == [1, 3]
    for result in (twice, listed, in_tuple, named["twice"]):
        assert isinstance(result, library.kind)
        assert values(result) == [[2.0, 4.0, 6.0]]
    assert same is x


@every_library
def test_what_a_view_shows_is_the_memory_of_the_array(library):
    x = library.make([[1.0, 2.0], [3.0, 4.0]])
    transpose = code("graph(%x : Tensor):\n  %y : Tensor = aten::t(%x)\n  return (%y)")
    if library.name == "jax":  # which asks for DLPack's legacy form, that has no read-only memory
        for run in (transpose, opyard.ops.aten.t):
            with pytest.raises(BufferError, match="read-only"):
                run(x)
        return
    result = transpose(x)
    assert values(result) == [[1.0, 3.0], [2.0, 4.0]]
    assert library.address(result) == library.address(x)


@every_library
def test_a_code_takes_arrays_of_any_size(library):
    run = code("graph(%x : Tensor):\n  %y : Tensor = aten::sum(%x)\n  return (%y)")
    for count in (0, 1, 7, 40):
        result = run(library.make([1.0] * count))
        assert isinstance(result, library.kind) and values(result) == count
    assert values(run(library.make(2.0))) == 2.0


@pytest.mark.parametrize("library", [k for k in KINDS if k.name in ("numpy", "torch")], ids=str)
def test_an_input_that_is_written_comes_back_as_itself(library):
    x, y = library.make([[1.0, 2.0], [3.0, 4.0]]), opyard.tensor([[1.0, 1.0], [1.0, 1.0]])
    same, view = code(WRITES)(x, y)
    assert same is x and values(x) == [[0.0, 1.0], [2.0, 3.0]]
    assert isinstance(view, library.kind) and library.address(view) == library.address(x)

    keeps = code("graph(%x : Tensor, %y : Tensor):\n  return (%y, %x)")
    assert [a is b for a, b in zip(keeps(x, y), (y, x), strict=True)] == [True, True]


def test_memory_that_is_read_only_is_refused_where_it_is_written_and_only_there():
    frozen = np.ones((2, 2), np.float32)
    frozen.flags.writeable = False
    before = opyard.ops.aten.zeros([2, 2])
    run = code(WRITES)
    with pytest.raises(ValueError, match=r"input %x cannot be an object of type 'numpy.ndarray'"):
        run(frozen, before)
    same, _ = run(before, frozen)
    assert same is before and before.tolist() == [[-1.0, -1.0], [-1.0, -1.0]]


def test_writes_in_branches_and_forks_are_found():
    text = """graph(%x : Tensor, %y : Tensor, %c : bool):
  %f : Future(Tensor) = prim::fork[Subgraph=inner::graph_0](%y)
  %r : Tensor = aten::wait(%f)
  %z : Tensor = prim::If(%c)
    block0():
      %a : Tensor = aten::zero_(%x)
      -> (%a)
    block1():
      -> (%x)
  return (%z, %r)
with inner::graph_0 = graph(%x : Tensor):
  %v : Tensor = aten::t(%x)
  %r : Tensor = aten::neg_(%v)
  return (%r)
"""
    run = code(text)
    x, y = np.ones((1, 2), np.float32), np.ones((1, 2), np.float32)
    z, r = run(x, y, True)
    assert z is x and x.tolist() == [[0.0, 0.0]]
    assert y.tolist() == [[-1.0, -1.0]] and np.shares_memory(r, y)
    for place, name in enumerate("xy"):
        given = [np.ones((1, 2), np.float32) for _ in range(2)]
        given[place].flags.writeable = False
        with pytest.raises(ValueError, match=rf"input %{name} cannot be .*read-only"):
            run(*given, True)


def test_writes_are_counted():
    x, y = fake.Tensor(np.zeros((2, 2), np.float32)), fake.Tensor(np.ones((2, 2), np.float32))
    code(WRITES)(x, y)
    assert (x.version, y.version) == (1, 0)
    assert x.tolist() == [[-1.0, -1.0], [-1.0, -1.0]]
    torch = pytest.importorskip("torch")
    a = torch.ones(2, 2, requires_grad=True)
    saved = a * 1.0
    product = saved * saved
    with torch.no_grad():
        code(WRITES)(saved, torch.ones(2, 2))
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        product.sum().backward()


def test_an_array_that_requires_a_gradient_is_refused_and_named():
    run = code(TWO)
    ones = np.ones(2, np.float32)
    with pytest.raises(ValueError, match=r"input %w .*requires a gradient.*detach"):
        run(ones, fake.Tensor(ones, requires_grad=True))
    with fake.no_grad():
        assert type(run(fake.Tensor(ones, requires_grad=True), ones)) is fake.Tensor
    torch = pytest.importorskip("torch")
    x = torch.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match=r"input %x .*detach"):
        run(x, ones)
    with torch.no_grad():
        result = run(x, ones)
    assert type(result) is torch.Tensor and not result.requires_grad


def test_a_view_that_is_conjugated_or_negated_is_read_as_what_it_says():
    z = np.array([1 + 2j, 3.0], np.complex64)
    result = code(TWO)(fake.Tensor(z, conj=True), np.ones(2, np.complex64))
    assert result.tolist() == z.conj().tolist()
    with pytest.raises(ValueError, match=r"input %x "):
        code("graph(%x : Tensor):\n  %y : Tensor = aten::neg_(%x)\n  return (%y)")(
            fake.Tensor(z, conj=True)
        )


def test_results_that_are_taped_stay_tensors():
    weight = opyard.tensor([2.0, 3.0]).requires_grad_()
    graph = jit.parse_ir(
        """graph(%x : Tensor):
  %w : Tensor = prim::Constant[value=<Tensor>]()
  %y : Tensor = aten::mul(%x, %w)
  return (%y)
""",
        tensors=[weight],
    )
    result = graph(np.float32([1.0, 1.0]))
    assert type(result) is opyard.Tensor
    result.sum().backward()
    assert weight.grad.tolist() == [1.0, 1.0]
    with autograd.no_grad():
        assert type(graph(np.float32([1.0, 1.0]))) is np.ndarray


def test_without_an_array_results_are_tensors():
    constant = opyard.tensor([2.0])
    text = "graph({}):\n  %w : Tensor = prim::Constant[value=<Tensor>]()\n  return (%w)"
    alone = jit.parse_ir(text.format(""), tensors=[constant])
    assert alone() is constant
    number = jit.parse_ir(text.format("%n : int"), tensors=[constant])
    assert number(3) is constant
    beside = jit.parse_ir(text.format("%x : Tensor"), tensors=[constant])
    result = beside(np.float32([1.0]))
    assert type(result) is np.ndarray and result.ctypes.data == constant.data_ptr()


def test_numbers_and_lists_are_converted_beside_arrays():
    run = code("""graph(%x : Tensor[], %n : int, %s : float):
  %y : Tensor = aten::cat(%x, %n)
  %z : Tensor = aten::mul(%y, %s)
  return (%z)
""")
    row = np.float32([[1.0, 2.0]])
    result = run([row, opyard.tensor([[3.0, 4.0]])], 1, 2)
    assert type(result) is np.ndarray and result.tolist() == [[2.0, 4.0, 6.0, 8.0]]
    with pytest.raises(TypeError, match=r"input %x must be of type Tensor\[\], not one with a str"):
        run([row, "no"], 1, 2)
    with pytest.raises(ValueError, match=r"input %x\[1\] cannot be .*none below zero"):
        run([row, row[:, ::-1]], 1, 2)


def test_an_array_that_moves_while_others_are_converted_is_refused():
    arrays = pytest.importorskip("torch")
    x = arrays.zeros(2)

    class Resizes(Exporter):
        def __dlpack__(self, **arguments):
            x.resize_(1 << 16)
            return super().__dlpack__(**arguments)

    with pytest.raises(ValueError, match=r"graph\(\): an argument .* was resized"):
        code(TWO)(x, Resizes([1.0, 2.0]))


def test_a_call_keeps_no_array():
    class Named(np.ndarray):
        pass

    run = code(NESTED)
    x = np.ones((1, 3), np.float32).view(Named)
    count, gone = sys.getrefcount(x), weakref.ref(x)
    run(x)
    assert sys.getrefcount(x) == count
    with pytest.raises(ValueError, match=r"input %w"):
        code(TWO)(x, x[:, ::-1])
    assert sys.getrefcount(x) == count
    view = code("graph(%x : Tensor):\n  %y : Tensor = aten::t(%x)\n  return (%y)")(x)
    del x
    gc.collect()
    assert gone() is not None and view.tolist() == [[1.0], [1.0], [1.0]]
    del view
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("library", LIBRARIES, ids=lambda library: library.name)
def test_a_fork_that_runs_on_has_what_it_got(library):
    run = code("""graph(%x : Tensor):
  %f : Future(Tensor) = prim::fork[Subgraph=inner::graph_0](%x)
  return (%f)
with inner::graph_0 = graph(%x : Tensor):
  %d : int = prim::Constant[value=0]()
  %y : Tensor = aten::cumsum(%x, %d)
  return (%y)
""")
    begun = [run(library.make([1.0] * 5000)) for _ in range(20)]
    for future in begun:
        assert future.wait().tolist()[-1] == 5000.0


def test_stages_of_a_state_take_arrays():
    two = jit.compile(
        jit.parse_ir("""graph(%x : Tensor, %w : Tensor):
  %y : Tensor = aten::mul(%x, %w)
  return (%y)
stage 1(%g : Tensor):
  %dx : Tensor = aten::mul(%g, %w)
  return (%dx, %x)
""")
    )
    x, w = np.float32([1.0, 2.0]), np.float32([3.0, 4.0])
    state = jit.InterpreterState(two)
    assert type(state.run_one_stage(x, w)) is np.ndarray
    dx, again = state.run_one_stage(opyard.tensor([1.0, 1.0]))
    assert type(dx) is opyard.Tensor and dx.tolist() == [3.0, 4.0]
    assert again.data_ptr() == x.ctypes.data
    state = jit.InterpreterState(two)
    state.begin_stage(x, w)
    assert type(state.resume()) is opyard.Tensor  # no array came with this call
    dx, again = state.run_one_stage(np.float32([1.0, 1.0]))
    assert type(dx) is type(again) is np.ndarray and again.ctypes.data == x.ctypes.data


@every_library
def test_traced_and_compiled_functions_give_the_kind(library):
    def both(batch, scale):
        return {"y": batch["x"] * batch["w"] * scale, "same": (batch["x"],)}

    ones = opyard.tensor([1.0, 1.0])
    traced = jit.trace(both, ({"x": ones, "w": ones * 2}, 2.0))
    x, w = library.make([1.0, 2.0]), library.make([3.0, 4.0])
    result = traced({"x": x, "w": w}, 2.0)
    assert isinstance(result["y"], library.kind) and values(result["y"]) == [6.0, 16.0]
    assert result["same"][0] is x
    assert traced({"x": ones, "w": ones}, 2.0)["same"][0] is ones
    with pytest.raises(TypeError, match=r"\['w'\] is of type set; a traced function takes"):
        traced({"x": x, "w": {1}}, 2.0)

    aten = opyard.ops.aten
    compiled = jit.compile(lambda x, w: aten.mul.Tensor(x, w))
    with pytest.warns(jit.CompileWarning):
        result = compiled(x, w)
    assert isinstance(result, library.kind) and values(result) == [3.0, 8.0]


@every_library
def test_a_model_gives_the_kind(library):
    model = jit.load(MODEL)
    x = np.array([[1.0, 2.0, 3.0, 4.0], [0.5, -0.5, 0.25, 1.0]], np.float32)
    wanted = model(opyard.from_numpy(x), {"scale": opyard.tensor([2.0])})
    given = model(library.make(x.tolist()), {"scale": opyard.tensor([2.0])})
    for one, other in ((given["scores"], wanted["scores"]), (given["rest"][0], wanted["rest"][0])):
        assert isinstance(one, library.kind) and type(other) is opyard.Tensor
        np.testing.assert_allclose(values(one), other.tolist(), rtol=1e-6)
    assert given["rest"][1] == wanted["rest"][1] == 4


def test_a_model_that_is_trained_gives_tensors(tmp_path):
    model = jit.load(MODEL)
    x, scale = np.ones((2, 4), np.float32), {"scale": np.float32([2.0])}
    for parameter in model.parameters():
        parameter.requires_grad_()
    scores = model(x, scale)["scores"]
    assert type(scores) is opyard.Tensor and scores.requires_grad
    with autograd.no_grad():
        assert type(model(x, scale)["scores"]) is np.ndarray


def test_a_model_names_the_input_that_it_refuses():
    model = jit.load(MODEL)
    x = np.ones((2, 8), np.float32)[:, ::2]
    assert model(x, {"scale": np.float32([1.0])})["rest"][1] == 4
    with pytest.raises(ValueError, match=r"input %x cannot be .*none below zero"):
        model(x[:, ::-1], {"scale": np.float32([1.0])})
    with pytest.raises(TypeError, match=r"input %scale_scale|input %\w*scale\w* must be"):
        model(x, {"scale": "two"})
