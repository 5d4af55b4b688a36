"""T2: random graphs run whole, call by call, in stages, and through NumPy, and give the same bits.

Suspect jit/src/code/ if a way of running differs from another, and kernels/ if all differ from
NumPy. Operators here round once, so that their bits are defined: + - * / sqrt and the like.
"""

import random

import pytest
from processes import volume

import opyard
from opyard import jit

numpy = pytest.importorskip("numpy")
aten = opyard.ops.aten


def add_in_place(x, y):
    x += y
    return x


# name: (arguments, what NumPy does). "t" is a float tensor, "m" one that is transposed, "w" one
# that the graph owns and may write into.
OPERATORS = {
    "aten::add.Tensor": ("tt1", lambda x, y, alpha: x + y),
    "aten::sub.Tensor": ("tt1", lambda x, y, alpha: x - y),
    "aten::mul.Tensor": ("tt", lambda x, y: x * y),
    "aten::div.Tensor": ("tt", lambda x, y: x / y),
    "aten::neg": ("t", lambda x: -x),
    "aten::abs": ("t", numpy.abs),
    "aten::sqrt": ("t", numpy.sqrt),
    "aten::maximum": ("tt", numpy.maximum),
    "aten::add_.Tensor": ("wt1", lambda x, y, alpha: add_in_place(x, y)),
    "aten::t": ("m", lambda x: x.T),
}


class Program:
    """A graph of some calls, and the same calls in NumPy. All values are 3 by 4, or transposed."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.builder = jit.GraphBuilder()
        self.inputs = [self.builder.input(f"x{i}") for i in range(self.random.randint(1, 3))]
        self.dtype = self.random.choice(["float32", "float64"])
        self.calls = []  # (operator, places of arguments, numbers)
        self.count = len(self.inputs)
        self.flipped = [False] * self.count
        self.owned = [False] * self.count
        handles = list(self.inputs)
        for _ in range(self.random.randint(1, 12)):
            self.add_call(handles)
        self.outputs = sorted(self.random.sample(range(self.count), min(3, self.count)))
        self.outputs.append(self.count - 1)
        self.builder.output(*[handles[place] for place in self.outputs])
        self.graph = self.builder.graph

    def add_call(self, handles):
        name = self.random.choice(list(OPERATORS))
        letters, _ = OPERATORS[name]
        first = self.random.choice(range(self.count))
        if "w" in letters:
            # Fresh memory only: what others see of it is then the same in every way of running.
            fresh = [place for place in range(self.count) if self.owned[place]]
            if not fresh:
                return
            first = self.random.choice(fresh)
        places = [first]
        if letters.count("t") + letters.count("w") == 2:
            same = [p for p in range(self.count) if self.flipped[p] == self.flipped[first]]
            places.append(self.random.choice(same))
        numbers = [1] if "1" in letters else []
        handles.append(self.builder.call(name, *[handles[place] for place in places], *numbers))
        self.calls.append((name, places, numbers))
        self.flipped.append(self.flipped[first] ^ (name == "aten::t"))
        self.owned.append(name not in ("aten::t", "aten::add_.Tensor"))
        self.count += 1

    def arrays(self):
        generator = numpy.random.default_rng(self.random.randrange(1 << 30))
        special = [0.0, -0.0, 1.0, numpy.inf, -numpy.inf, numpy.nan, 1e-40, -3.5]
        arrays = []
        for _ in self.inputs:
            array = generator.standard_normal((3, 4)).astype(self.dtype)
            for _ in range(4):
                array[generator.integers(3), generator.integers(4)] = generator.choice(special)
            if generator.integers(3) == 0:
                array = numpy.asfortranarray(array)
            arrays.append(array)
        return arrays

    def through_numpy(self, arrays):
        values = [array.copy() for array in arrays]
        with numpy.errstate(all="ignore"):
            for name, places, numbers in self.calls:
                values.append(OPERATORS[name][1](*[values[place] for place in places], *numbers))
        return [values[place] for place in self.outputs]

    def call_by_call(self, tensors):
        values = list(tensors)
        for name, places, _ in self.calls:
            packet = getattr(aten, name.removeprefix("aten::").partition(".")[0])
            values.append(packet(*[values[place] for place in places]))  # alpha is 1 anyhow
        return [values[place] for place in self.outputs]

    def staged(self, tensors):
        """Cut at random nodes, each stage run by a state of its own run's clone."""
        head, *body = str(self.graph).splitlines()
        while body[0].startswith("      "):
            head += "\n" + body.pop(0)
        cuts = sorted(self.random.sample(range(len(body)), min(2, len(body) - 1)), reverse=True)
        for number, cut in zip(range(len(cuts), 0, -1), cuts, strict=True):
            body[cut:cut] = ["  return ()", f"stage {number}():"]
        state = jit.InterpreterState(jit.compile(jit.parse_ir("\n".join([head, *body, ""]))))
        state.check_frees()
        result = state.run_one_stage(*tensors)
        for _ in cuts:
            state = state.clone()
            result = state.run_one_stage()
        return list(result)

    def tensors(self, arrays):
        return [opyard.from_numpy(array.copy(order="K")) for array in arrays]


def bits(value):
    array = numpy.asarray(value) if not isinstance(value, opyard.Tensor) else value.numpy()
    # Which of many NaNs comes out is the processor's choice; that it is one is ours.
    array = numpy.where(numpy.isnan(array), numpy.array(numpy.nan, array.dtype), array)
    return array.dtype.name, array.shape, numpy.ascontiguousarray(array).tobytes()


def compare(seed):
    program = Program(seed)
    arrays = program.arrays()
    wanted = [bits(each) for each in program.through_numpy(arrays)]
    ways = {
        "whole": lambda tensors: list(program.graph(*tensors)),
        "call by call": program.call_by_call,
        "staged": program.staged,
        "traced": lambda tensors: list(
            jit.trace(
                lambda *given: program.call_by_call(given), tuple(tensors), check_trace=False
            )(*program.tensors(arrays))
        ),
    }
    for way, run in ways.items():
        given = [bits(each) for each in run(program.tensors(arrays))]
        assert given == wanted, f"seed {seed}, {way}:\n{program.graph}"


def test_T2_random_graphs_give_the_bits_of_numpy_in_every_way_of_running():
    for seed in range(volume(2000)):
        compare(seed)


# What TorchScript prints after inlining, as its users have it in files: written by hand.
INLINED = [
    (
        """graph(%x.1 : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu),
      %w : Float(3, 3, strides=[3, 1], requires_grad=0, device=cpu)):
  %2 : int = prim::Constant[value=1]() # m.py:7:15
  %y : Float(2, 3, strides=[3, 1], device=cpu) = aten::matmul(%x.1, %w) # m.py:7:1
  %z : Float(2, 3, strides=[3, 1], device=cpu) = aten::add(%y, %x.1, %2) # m.py:7:1
  %r : Float(2, 3, strides=[3, 1], requires_grad=0, device=cpu) = aten::relu(%z) # f.py:9:0
  return (%r)
""",
        lambda x, w: numpy.maximum(x @ w + x, 0),
    ),
    (
        """graph(%x.1 : Tensor,
      %w : Tensor):
  %7 : bool = prim::Constant[value=1]() # <ipython-input-1>:4:4
  %2 : int = prim::Constant[value=3]() # <ipython-input-1>:4:19
  %5 : int = prim::Constant[value=1]()
  %y : Tensor = prim::Loop(%2, %7, %x.1) # <ipython-input-1>:4:4
    block0(%i.1 : int, %y.9 : Tensor):
      %y.3 : Tensor = aten::add(%y.9, %i.1, %5) # <ipython-input-1>:5:12
      -> (%7, %y.3)
  return (%y)
""",
        lambda x, w: x + 0 + 1 + 2,
    ),
    (
        """graph(%x.1 : Tensor,
      %w : Tensor):
  %3 : int = prim::Constant[value=0]()
  %9 : int = prim::Constant[value=1]()
  %4 : int = aten::size(%x.1, %3)
  %5 : int = prim::Constant[value=2]()
  %6 : bool = aten::gt(%4, %5)
  %10 : Tensor = prim::If(%6)
    block0():
      %8 : Tensor = aten::mul(%x.1, %5)
      -> (%8)
    block1():
      %11 : Tensor = aten::sub(%x.1, %9, %9)
      -> (%11)
  return (%10)
""",
        lambda x, w: x - 1,
    ),
    (
        """graph(%x.1 : Tensor,
      %w : Tensor):
  %2 : int = prim::Constant[value=0]()
  %3 : Tensor[] = prim::ListConstruct(%x.1, %w)
  %4 : Tensor = aten::cat(%3, %2)
  %5 : int = prim::Constant[value=-1]()
  %6 : int[] = prim::ListConstruct(%5)
  %7 : Tensor = aten::reshape(%4, %6)
  %8 : (Tensor, Tensor) = prim::TupleConstruct(%7, %x.1)
  %9 : Tensor, %10 : Tensor = prim::TupleUnpack(%8)
  return (%9)
""",
        lambda x, w: numpy.concatenate([x, w]).reshape(-1),
    ),
    (
        """graph(%x.1 : Tensor,
      %w : Tensor):
  %2 : NoneType = prim::Constant()
  %3 : bool = prim::Constant[value=0]()
  %4 : int[] = prim::Constant[value=[0, 1]]()
  %5 : float = prim::Constant[value=0.5]()
  %6 : Tensor = aten::permute(%x.1, %4)
  %7 : Tensor = aten::mul(%6, %5)
  %8 : Tensor = aten::contiguous(%7, %9)
  return (%8)
""",
        None,
    ),
]


def test_H13_texts_that_torchscript_prints_are_read_and_run_unchanged():
    x = numpy.arange(6, dtype="float32").reshape(2, 3) - 2
    w = numpy.arange(9, dtype="float32").reshape(3, 3) / 4
    for text, in_numpy in INLINED:
        if in_numpy is None:
            with pytest.raises(ValueError, match=r"\d+:\d+: "):
                jit.parse_ir(text)
            continue
        graph = jit.parse_ir(text)
        assert bits(graph(opyard.from_numpy(x), opyard.from_numpy(w))) == bits(in_numpy(x, w))
        assert str(jit.parse_ir(str(graph))) == str(graph)
