"""T2: generated graphs run plain, optimised, fused, in stages and through NumPy (H18, H43, H45).

The first four give the same bits. What rounds once has those of NumPy, too; functions and sums of
such values are within 4 ulp of it, or of the sum of magnitudes. Suspect the pass or the way of
running that differs, and kernels/ if all differ from NumPy.
"""

import random

import pytest
from processes import VOLUME, volume

import opyard
from opyard import autograd, jit
from opyard.jit import passes

numpy = pytest.importorskip("numpy")
aten = opyard.ops.aten

GRAPHS = volume(5000) if VOLUME <= 1 else 200_000
ALL = [(7,), (3, 4), (40, 33), (600,), (2, 3, 35), (1, 5), (4, 1, 70)]
SPECIAL = [0.0, -0.0, 1.0, numpy.inf, -numpy.inf, numpy.nan, 1e-40, -3.5]
KINDS = {"float32": 6, "float64": 7, "int64": 4, "bool": 11}  # as a ScalarType

# name: (arguments, what NumPy does, whether it rounds once). "t" is a tensor of the graph's dtype,
# "m" one of bools, "n" the number.
OPERATORS = {
    "add": ("tt", numpy.add, True),
    "sub": ("tt", numpy.subtract, True),
    "mul": ("tt", numpy.multiply, True),
    "add.Scalar": ("tn", numpy.add, True),
    "mul.Scalar": ("tn", numpy.multiply, True),
    "neg": ("t", numpy.negative, True),
    "abs": ("t", numpy.abs, True),
    "maximum": ("tt", numpy.maximum, True),
    "minimum": ("tt", numpy.minimum, True),
    "lt": ("tt", numpy.less, True),
    "ge.Scalar": ("tn", numpy.greater_equal, True),
    "eq": ("tt", numpy.equal, True),
    "logical_and": ("mm", numpy.logical_and, True),
    "logical_not": ("m", numpy.logical_not, True),
    "where": ("mtt", numpy.where, True),
    "masked_fill": ("tmn", lambda x, m, n: numpy.where(m, x.dtype.type(n), x), True),
}
OF_FLOATS = {
    "div": ("tt", numpy.divide, True),
    "sqrt": ("t", numpy.sqrt, True),
    "exp": ("t", numpy.exp, False),
    "tanh": ("t", numpy.tanh, False),
    "sigmoid": ("t", lambda x: 1 / (1 + numpy.exp(-x.astype("float64"))), False),
    "relu": ("t", lambda x: numpy.maximum(x, 0), False),  # a zero may have either sign
}
# Those that have a formula, and whose results no gradient of others makes infinite.
SMOOTH = ("add", "sub", "mul", "add.Scalar", "mul.Scalar", "neg", "tanh", "sigmoid", "relu")


class Program:
    """A graph, and the calls that it is made of. All tensors broadcast to one shape."""

    def __init__(self, seed, smooth=False):
        self.random = random.Random(seed)
        self.smooth = smooth
        self.sizes = self.random.choice(ALL)
        self.dtype = self.random.choice(("float64",) if smooth else ("float32", "float64", "int64"))
        self.number = self.random.choice((2, -3) if self.dtype == "int64" else (0.5, -2.0))
        self.inputs = [f"%x{number}" for number in range(self.random.randint(1, 3))]
        self.shapes = {name: self.shape() for name in self.inputs}
        self.shapes["%x0"] = self.sizes
        self.tensors, self.bools, self.owned = list(self.inputs), [], []
        self.exact = set(self.inputs)  # what NumPy gives bit for bit
        self.calls = []  # (what it gives, operator, arguments)
        for _ in range(self.random.randint(2, 14)):
            self.add_call()
        while not self.calls:
            self.add_call()
        self.add_tail()
        given = [call[0] for call in self.calls]
        self.outputs = list(
            dict.fromkeys([*self.random.sample(given, min(2, len(given))), given[-1]])
        )

    def shape(self):
        """The full sizes, or some that broadcast to them."""
        own = [1 if self.random.random() < 0.15 else size for size in self.sizes]
        return tuple(own[self.random.randrange(len(own)) if self.random.random() < 0.2 else 0 :])

    def table(self):
        table = OPERATORS if self.dtype == "int64" else OPERATORS | OF_FLOATS
        return {name: table[name] for name in SMOOTH} if self.smooth else table

    def give(self, operator, arguments, shape, exact):
        name = f"%v{len(self.calls)}"
        self.calls.append((name, operator, arguments))
        self.shapes[name] = shape
        if exact:
            self.exact.add(name)
        return name

    def add_call(self):
        name = self.random.choice(list(self.table()))
        letters, _, rounds_once = self.table()[name]
        if "m" in letters and not self.bools:
            return
        pools = {"t": self.tensors, "m": self.bools, "n": [self.number]}
        arguments = [self.random.choice(pools[letter]) for letter in letters]
        names = [one for one in arguments if isinstance(one, str)]
        shape = numpy.broadcast_shapes(*[self.shapes[one] for one in names])
        if not self.smooth and self.owned and name in ("add", "mul") and self.random.random() < 0.2:
            # Fresh memory only: what others see of it is then the same in every way of running.
            first = self.random.choice(self.owned)
            if (
                numpy.broadcast_shapes(self.shapes[first], self.shapes[names[1]])
                == (self.shapes[first])
            ):
                name, arguments, shape = f"{name}_", [first, names[1]], self.shapes[first]
                names = arguments
                if not all(one in self.exact for one in names):
                    return
        exact = rounds_once and all(one in self.exact for one in names)
        made = self.give(name, arguments, shape, exact)
        if name.partition(".")[0] in ("lt", "ge", "eq", "logical_and", "logical_not"):
            self.bools.append(made)
            return
        self.tensors.append(made)
        if not name.endswith("_"):
            self.owned.append(made)

    def add_tail(self):
        """Perhaps a reduction of the last dimensions, or tensors that are joined."""
        tensor = self.tensors[-1]
        kind = self.random.choice(("none", "none", "sum", "mean", "amax", "cat"))
        sizes = self.shapes[tensor]
        if kind == "cat" and sizes:
            alike = [one for one in self.tensors if self.shapes[one] == sizes]
            items = self.random.choices(alike, k=self.random.randint(1, 3))
            dim = self.random.randrange(len(sizes))
            self.give("cat", [items, dim], None, all(one in self.exact for one in items))
        elif kind in ("sum", "mean", "amax") and not (kind == "mean" and self.dtype == "int64"):
            dims = self.random.choice(([-1], [])) if sizes else []
            exact = self.dtype == "int64" and tensor in self.exact
            self.give(kind, [tensor, dims, self.random.random() < 0.5], None, exact)

    # ---- the ways

    def text(self):
        """The graph: constants first."""
        constants, lines = {}, []

        def constant(value, kind):
            text = str(int(value)) if isinstance(value, bool) else repr(value)
            known = constants.setdefault((text, kind), f"%c{len(constants)}")
            return known

        number = "int" if self.dtype == "int64" else "float"
        for name, operator, arguments in self.calls:
            words = []
            for argument in arguments:
                if isinstance(argument, str):
                    words.append(argument)
                elif isinstance(argument, bool):
                    words.append(constant(argument, "bool"))
                elif isinstance(argument, list) and operator == "cat":
                    items = ", ".join(argument)
                    lines.append(f"  {name}l : Tensor[] = prim::ListConstruct({items})")
                    words.append(f"{name}l")
                elif isinstance(argument, list):
                    words.append(constant(argument, "int[]"))
                else:
                    words.append(constant(argument, "int" if operator == "cat" else number))
            if operator in ("sum", "mean"):
                words.append("%none")
            plain = operator.partition(".")[0]
            lines.append(f"  {name} : Tensor = aten::{plain}({', '.join(words)})")
        head = [f"graph({', '.join(self.inputs)}):", "  %none : NoneType = prim::Constant()"]
        head += [
            f"  {name} : {kind} = prim::Constant[value={value}]()"
            for (value, kind), name in constants.items()
        ]
        return head, lines, f"  return ({', '.join(self.outputs)})"

    def graph(self):
        head, lines, end = self.text()
        return jit.parse_ir("\n".join([*head, *lines, end, ""]))

    def optimised(self):
        graph = self.graph()
        for run in (
            passes.eliminate_common_subexpressions,
            passes.peephole,
            passes.propagate_constants,
            passes.pool_constants,
            passes.eliminate_dead_code,
            passes.canonicalize,
        ):
            run(graph)
        return graph

    def fused(self):
        graph = self.optimised()
        passes.fuse(graph)
        return graph

    def in_stages(self, tensors):
        """Cut at random lines; each stage is run by the clone of a state."""
        head, lines, end = self.text()
        cuts = sorted(self.random.sample(range(len(lines) + 1), min(2, len(lines))), reverse=True)
        for number, cut in zip(range(len(cuts), 0, -1), cuts, strict=True):
            lines[cut:cut] = ["  return ()", f"stage {number}():"]
        state = jit.InterpreterState(jit.compile(jit.parse_ir("\n".join([*head, *lines, end, ""]))))
        state.check_frees()
        given = state.run_one_stage(*tensors)
        for _ in cuts:
            state = state.clone()
            given = state.run_one_stage()
        return given

    def call_by_call(self, tensors):
        """Of the engine: every value by its name."""
        values = dict(zip(self.inputs, tensors, strict=True))
        for name, operator, arguments in self.calls:
            given = [
                values[one] if isinstance(one, str)
                else [values[item] for item in one] if operator == "cat" and isinstance(one, list)
                else one
                for one in arguments
            ]  # fmt: skip
            values[name] = getattr(aten, operator.partition(".")[0])(*given)
        return values

    def results(self, *given):
        values = self.call_by_call(given)
        return tuple(values[name] for name in self.outputs)

    def in_numpy(self, arrays):
        """What each value is, and how far it may be off; nothing for what is not compared."""
        values, off = dict(zip(self.inputs, arrays, strict=True)), {}
        with numpy.errstate(all="ignore"):
            for name, operator, arguments in self.calls:
                given = [values[one] if isinstance(one, str) else one for one in arguments]
                if operator == "cat":
                    made = numpy.concatenate([values[one] for one in arguments[0]], arguments[1])
                elif operator in ("sum", "mean", "amax"):
                    axis = tuple(arguments[1]) or None
                    made = getattr(numpy, operator)(given[0], axis=axis, keepdims=arguments[2])
                    if operator != "amax":
                        of_all = numpy.sum(numpy.abs(given[0]), axis=axis, keepdims=arguments[2])
                        off[name] = of_all
                elif operator.endswith("_"):
                    made = {"add_": numpy.add, "mul_": numpy.multiply}[operator](*given)
                    given[0][...] = made  # whoever else names it, too
                    made = given[0]
                else:
                    made = self.table()[operator][1](*given)
                values[name] = numpy.asarray(made)
                if operator not in ("sum", "mean", "amax"):
                    off.setdefault(name, numpy.abs(made))
                off.setdefault(name, numpy.abs(made))
                if not all(one in self.exact for one in arguments if isinstance(one, str)) or (
                    operator == "cat" and name not in self.exact
                ):
                    off[name] = None
        return values, off

    def arrays(self):
        generator = numpy.random.default_rng(self.random.randrange(1 << 30))
        made = []
        for name in self.inputs:
            scale = 9 if self.dtype == "int64" else 1
            array = generator.standard_normal(self.shapes[name]) * scale
            array = numpy.asarray(array).astype(self.dtype)
            if self.dtype != "int64" and not self.smooth and array.size and generator.integers(2):
                array.flat[generator.integers(array.size, size=4)] = generator.choice(SPECIAL, 4)
            made.append(numpy.asfortranarray(array) if generator.integers(3) == 0 else array)
        return made


def tensors(arrays):
    return [opyard.from_numpy(array.copy(order="K")) for array in arrays]


def bits(tensor):
    array = numpy.asarray(tensor)
    if array.dtype.kind == "f":  # which of many NaNs comes out is the processor's choice
        array = numpy.where(numpy.isnan(array), numpy.array(numpy.nan, array.dtype), array)
    return array.dtype.name, array.shape, numpy.ascontiguousarray(array).tobytes()


def is_near(tensor, wanted, off):
    found = numpy.asarray(tensor)
    unit = numpy.finfo(found.dtype).eps if found.dtype.kind == "f" else 0
    with numpy.errstate(all="ignore"):
        near = numpy.abs(found.astype("float64") - wanted) <= 4 * unit * off + 1e-44
    same = (found == wanted) | (numpy.isnan(found) & numpy.isnan(wanted))
    return found.shape == wanted.shape and bool(numpy.all(near | same | ~numpy.isfinite(off)))


def as_tuple(given):
    return given if isinstance(given, tuple) else (given,)


def compare(seed):
    program = Program(seed)
    arrays = program.arrays()
    ways = {
        "plain": jit.compile(program.graph()),
        "optimised": jit.compile(program.optimised()),
        "fused": jit.compile(program.fused()),
        "in stages": lambda *given: program.in_stages(given),
    }
    given = {way: as_tuple(run(*tensors(arrays))) for way, run in ways.items()}
    wanted = [bits(one) for one in given["plain"]]
    for way, results in given.items():
        assert [bits(one) for one in results] == wanted, f"seed {seed}, {way}:\n{program.graph()}"
    values, off = program.in_numpy([array.copy(order="K") for array in arrays])
    for name, found in zip(program.outputs, given["plain"], strict=True):
        said = f"seed {seed}, {name} through NumPy:\n{program.graph()}"
        if name in program.exact:
            assert bits(found) == bits(values[name]), said
        elif off[name] is not None:
            assert is_near(found, values[name], off[name]), said


def test_T2_H45_generated_graphs_give_the_same_in_five_ways():
    for seed in range(GRAPHS):
        compare(seed)


def test_T2_H16_derivatives_of_generated_graphs_are_those_of_the_engine():
    compared = 0
    for seed in range(volume(600)):
        program = Program(seed, smooth=True)
        arrays = program.arrays()
        leaves = [one.requires_grad_() for one in tensors(arrays)]
        values = program.call_by_call(leaves)
        outputs = [values[name] for name in program.outputs]
        seeds = [aten.ones_like(one.detach()) for one in outputs]
        wanted = autograd.grad(outputs, leaves, grad_outputs=seeds, allow_unused=True)
        used = [i for i, one in enumerate(wanted) if one is not None]
        if not used:
            continue
        traced = jit.trace(program.results, tuple(tensors(arrays)), check_trace=False).graph
        names = [traced.inputs()[i] for i in used]
        passes.differentiate(traced, names)
        state = jit.InterpreterState(jit.compile(traced))
        state.run_one_stage(*tensors(arrays))
        found = as_tuple(state.run_one_stage(*seeds))
        assert [bits(one) for one in found] == [bits(wanted[i]) for i in used], (
            f"seed {seed}:\n{traced}"
        )
        compared += 1
    assert compared > volume(600) // 2
