"""T2: random graphs with branches and loops give the bits of NumPy in every way of running.

As test_jit_numpy.py for straight graphs. Suspect jit/src/code/build_blocks.cpp and lifetimes.cpp.
"""

import random

import pytest
from processes import volume
from test_jit_numpy import OPERATORS, aten, bits

import opyard
from opyard import jit

numpy = pytest.importorskip("numpy")


class Scope:
    """What a block may name: tensors, those that it may write into, and truths."""

    def __init__(self, tensors, owned, bools):
        self.tensors, self.owned, self.bools = list(tensors), list(owned), list(bools)

    def inner(self):
        return Scope(self.tensors, self.owned, self.bools)


class Blocks:
    """A graph with branches and loops as text, and the same in Python. All values are 3 by 4."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.dtype = self.random.choice(["float32", "float64"])
        self.count = 0
        scope = Scope(["%x0", "%x1"], [], ["%flag"])
        self.body = [self.statement(scope, 2) for _ in range(self.random.randint(2, 8))]
        self.outputs = [self.random.choice(scope.tensors), scope.tensors[-1]]

    def name(self):
        self.count += 1
        return f"%v{self.count}"

    def statement(self, scope, depth):
        pick = self.random.randrange(6 if depth else 4)
        if pick == 4:
            return self.branch(scope, depth)
        if pick == 5:
            return self.loop(scope, depth)
        flat = [name for name, (letters, _) in OPERATORS.items() if letters != "m"]
        operator = self.random.choice(flat)
        letters = OPERATORS[operator][0]
        first = scope.owned if "w" in letters else scope.tensors
        if not first:
            return self.statement(scope, depth)
        args = [self.random.choice(first)]
        if letters.count("t") + letters.count("w") == 2:
            args.append(self.random.choice(scope.tensors))
        made = self.name()
        scope.tensors.append(made)
        if "w" not in letters:
            scope.owned.append(made)
        return ("call", made, operator, args)

    def block(self, scope, depth):
        body = [self.statement(scope, depth - 1) for _ in range(self.random.randrange(4))]
        return body, self.random.choice(scope.tensors)

    def branch(self, scope, depth):
        condition = self.random.choice(scope.bools)
        blocks = [self.block(scope.inner(), depth) for _ in range(2)]
        made = self.name()
        scope.tensors.append(made)
        return ("if", made, condition, blocks)

    def loop(self, scope, depth):
        start = self.random.choice(scope.tensors)
        trip, carried, less = self.name(), self.name(), self.name()
        inner = scope.inner()
        inner.tensors.append(carried)
        inner.bools.append(less)
        body, result = self.block(inner, depth)
        more = self.random.choice(["%true", less])
        made = self.name()
        scope.tensors.append(made)
        return ("loop", made, start, (trip, carried, less, more), (body, result))

    def lines(self, statement, indent="  "):
        what, made, *rest = statement
        if what == "call":
            operator, args = rest
            one = ["%one"] if "1" in OPERATORS[operator][0] else []
            return [f"{indent}{made} : Tensor = {operator}({', '.join(args + one)})"]
        deeper = indent + "    "
        if what == "if":
            condition, blocks = rest
            lines = [f"{indent}{made} : Tensor = prim::If({condition})"]
            for number, (body, result) in enumerate(blocks):
                lines.append(f"{indent}  block{number}():")
                lines += [line for each in body for line in self.lines(each, deeper)]
                lines.append(f"{deeper}-> ({result})")
            return lines
        start, (trip, carried, less, more), (body, result) = rest
        lines = [
            f"{indent}{made} : Tensor = prim::Loop(%n, %true, {start})",
            f"{indent}  block0({trip} : int, {carried} : Tensor):",
            f"{deeper}{less} : bool = aten::lt({trip}, %one)",
        ]
        lines += [line for each in body for line in self.lines(each, deeper)]
        return [*lines, f"{deeper}-> ({more}, {result})"]

    def text(self, cuts=0):
        body = [self.lines(each) for each in self.body]
        places = sorted(self.random.sample(range(len(body)), min(cuts, len(body))), reverse=True)
        for stage, place in zip(range(len(places), 0, -1), places, strict=True):
            body.insert(place, ["  return ()", f"stage {stage}():"])
        head = [
            "graph(%x0 : Tensor, %x1 : Tensor, %flag : bool, %n : int):",
            "  %one : int = prim::Constant[value=1]()",
            "  %true : bool = prim::Constant[value=1]()",
        ]
        lines = head + [line for part in body for line in part]
        return "\n".join([*lines, f"  return ({', '.join(self.outputs)})", ""])

    def run(self, statements, values, call):
        for what, made, *rest in statements:
            if what == "call":
                values[made] = call(rest[0], [values[name] for name in rest[1]])
            elif what == "if":
                body, result = rest[1][0 if values[rest[0]] else 1]
                self.run(body, values, call)
                values[made] = values[result]
            else:
                start, (trip, carried, less, more), (body, result) = rest
                values[carried], values["%true"], going = values[start], True, True
                for number in range(values["%n"]):
                    if not going:
                        break
                    values[trip] = number
                    values[less] = values[trip] < 1
                    self.run(body, values, call)
                    values[carried], going = values[result], values[more]
                values[made] = values[carried]

    def in_python(self, given, call):
        values = dict(zip(["%x0", "%x1", "%flag", "%n"], given, strict=True))
        with numpy.errstate(all="ignore"):
            self.run(self.body, values, call)
        return [values[name] for name in self.outputs]

    def staged(self, given):
        code = jit.compile(jit.parse_ir(self.text(cuts=2)))
        state = jit.InterpreterState(code)
        state.check_frees()
        result = state.run_one_stage(*given)
        for _ in range(code.stage_count - 1):
            state = state.clone()
            result = state.run_one_stage()
        return list(result)


def call_numpy(operator, args):
    letters, function = OPERATORS[operator]
    return function(*args, 1) if "1" in letters else function(*args)


def call_opyard(operator, args):
    packet = getattr(aten, operator.removeprefix("aten::").partition(".")[0])
    return packet(*args)


def compare_blocks(seed):
    program = Blocks(seed)
    generator = numpy.random.default_rng(seed)
    arrays = [generator.standard_normal((3, 4)).astype(program.dtype) for _ in range(2)]
    for array in arrays:
        array[generator.integers(3), generator.integers(4)] = generator.choice(
            [0.0, -0.0, numpy.inf, numpy.nan, 1e-40]
        )
    rest = [bool(generator.integers(2)), int(generator.integers(4))]
    copies = [array.copy() for array in arrays]
    wanted = [bits(each) for each in program.in_python([*copies, *rest], call_numpy)]
    ways = {
        "whole": lambda given: list(jit.parse_ir(program.text())(*given)),
        "call by call": lambda given: program.in_python(given, call_opyard),
        "staged": program.staged,
    }
    for way, run in ways.items():
        tensors = [opyard.from_numpy(array.copy()) for array in arrays]
        given = [bits(each) for each in run([*tensors, *rest])]
        assert given == wanted, f"seed {seed}, {way}:\n{program.text()}"


def test_T2_random_branches_and_loops_give_the_bits_of_numpy_in_every_way_of_running():
    for seed in range(volume(2000)):
        compare_blocks(seed)
