"""Random programs with views and writes in place, run with Opyard and with PyTorch.

For test_gradient_programs. A program is a list of instructions: an operator of `aten`, the places
of its tensors in a list of all that were made so far, and its other arguments. Both libraries have
these operators under the same names. Sizes are those that PyTorch's tensors have, so a program is
made while PyTorch runs it.
"""

import random
from collections.abc import Callable
from dataclasses import dataclass


@dataclass
class Instruction:
    operator: str
    tensors: list  # places; a list of places for an argument that is a list
    others: list
    without_gradients: bool = False

    @property
    def is_smooth(self) -> bool:
        """Whether its gradient is what small differences of values show."""
        has_steps = self.operator.startswith(("relu", "abs", "maximum", "minimum"))
        return not (has_steps or self.without_gradients or self.operator == "detach")

    def run(self, aten: object, no_grad: Callable, made: list) -> list:
        packet, _, overload = self.operator.partition(".")
        op = getattr(getattr(aten, packet), overload or "default")
        given = [
            [made[i] for i in place] if isinstance(place, list) else made[place]
            for place in self.tensors
        ]
        if self.without_gradients:
            with no_grad():
                result = op(*given, *self.others)
        else:
            result = op(*given, *self.others)
        return list(result) if isinstance(result, list | tuple) else [result]


def leaf_values(choice: random.Random) -> list:
    shapes = [(2, 3), (3,), (2, 1), (2, 3), (1, 3), (), (3, 2)]
    leaves = []
    for _ in range(3):
        shape = choice.choice(shapes)

        def numbers(rest: tuple) -> object:
            if not rest:
                return round(choice.uniform(-2, 2), 3)
            return [numbers(rest[1:]) for _ in range(rest[0])]

        leaves.append(numbers(shape))
    return leaves


UNARY = ["tanh", "sigmoid", "relu", "neg", "abs", "clone", "detach", "alias"]
BINARY = ["add.Tensor", "sub.Tensor", "mul.Tensor", "maximum", "minimum"]
UNARY_IN_PLACE = ["relu_", "zero_"]
BINARY_IN_PLACE = ["add_.Tensor", "sub_.Tensor", "mul_.Tensor", "div_.Tensor", "copy_"]


def view_of(choice: random.Random, tensor: object, place: int) -> Instruction:
    """A view of a tensor, of a kind that its sizes allow."""
    shape = list(tensor.shape)
    kinds = ["unsqueeze", "alias", "expand", "reshape"]
    if shape:
        kinds += ["select.int", "slice.Tensor", "transpose.int", "squeeze.dim", "permute"]
    kind = choice.choice(kinds)
    dim = choice.randrange(len(shape)) if shape else 0
    if kind == "unsqueeze":
        others = [choice.randrange(len(shape) + 1)]
    elif kind == "expand":
        others = [[2, *shape]]
    elif kind == "reshape":
        count = 1
        for size in shape:
            count *= size
        others = [[count]]
    elif kind == "select.int":
        others = [dim, choice.randrange(shape[dim])]
    elif kind == "slice.Tensor":
        begin = choice.randrange(shape[dim])
        others = [dim, begin, choice.randrange(begin + 1, shape[dim] + 1), choice.choice([1, 1, 2])]
    elif kind == "transpose.int":
        others = [dim, choice.randrange(len(shape))]
    elif kind == "permute":
        order = list(range(len(shape)))
        choice.shuffle(order)
        others = [order]
    else:
        others = [dim] if kind == "squeeze.dim" else []
    return Instruction(kind, [place], others)


# What an instruction does, and how often.
KINDS = {"unary": 3, "binary": 4, "view": 6, "write": 1, "write two": 3, "sum": 1, "join": 1}
KINDS["matrix"] = 1


def memory_of(tensor: object) -> int:
    return tensor.untyped_storage().data_ptr()


def next_instruction(choice: random.Random, made: list, detached: list) -> Instruction:
    """One that PyTorch may refuse, too. `detached` are the places of what detach gave."""
    place = choice.randrange(len(made))
    tensor = made[place]
    [kind] = choice.choices(list(KINDS), list(KINDS.values()))
    if kind == "unary":
        one = Instruction(choice.choice(UNARY), [place], [])
    elif kind == "binary":
        one = Instruction(choice.choice(BINARY), [place, choice.randrange(len(made))], [])
    elif kind == "view":
        one = view_of(choice, tensor, place)
    elif kind.startswith("write"):
        # What is written is a leaf, which both refuse, in one of many programs only.
        if tensor.is_leaf and tensor.requires_grad and choice.random() < 0.95:
            return Instruction("mul.Scalar", [place], [1.5])
        # Views of a detached tensor keep what they are when that one is written, as the guide says.
        if memory_of(tensor) in {memory_of(made[i]) for i in detached}:
            return Instruction("clone", [place], [])
        if kind == "write two":
            other = choice.randrange(len(made))
            # PyTorch reads what it has written already if the two overlap in part.
            if memory_of(made[other]) == memory_of(tensor):
                other = place
            one = Instruction(choice.choice(BINARY_IN_PLACE), [place, other], [])
        elif choice.random() < 0.3:
            one = Instruction("mul_.Scalar", [place], [1.5])
        else:
            one = Instruction(choice.choice(UNARY_IN_PLACE), [place], [])
    elif kind == "sum" and tensor.dim() > 0:
        one = Instruction("sum.dim_IntList", [place], [[choice.randrange(tensor.dim())], True])
    elif kind == "join":
        one = Instruction("stack", [[place, place]], [0])
    elif kind == "matrix" and tensor.dim() == 2:
        one = Instruction("mm", [place, choice.randrange(len(made))], [])
    else:
        one = Instruction("mul.Scalar", [place], [0.5])
    one.without_gradients = choice.random() < 0.05
    return one


@dataclass
class Outcome:
    """What a program came to: the instruction that raised, or values and gradients."""

    refused: "int | None"
    values: list
    gradients: list
    error: "Exception | None" = None


def loss_of(made: list, leaves: list, total: Callable) -> object:
    """The sum of everything that needs a gradient, or None."""
    loss = None
    for tensor in made[len(leaves) :]:
        if tensor.requires_grad:
            part = total(tensor)
            loss = part if loss is None else loss + part
    return loss


def finish(made: list, leaves: list, run: Callable, total: Callable) -> Outcome:
    values: list = []
    try:
        values += [one.detach().reshape([-1]).tolist() for one in made]
        loss = loss_of(made, leaves, total)
        if loss is None:
            return Outcome(None, values, [None] * len(leaves))  # nothing to run backward from
        run(loss)
    except Exception as error:
        return Outcome(-1, values, [], error)
    gradients = [None if x.grad is None else x.grad.reshape([-1]).tolist() for x in leaves]
    return Outcome(None, values, gradients)


def follow(program: list, leaves: list, aten: object, no_grad: Callable, run: Callable) -> Outcome:
    """Runs a program that was made."""
    made = list(leaves)
    for index, instruction in enumerate(program):
        try:
            made += instruction.run(aten, no_grad, made)
        except Exception as error:
            return Outcome(index, [], [], error)
    return finish(made, leaves, run, aten.sum.default)


def invent(seed: int, leaves: Callable, aten: object, no_grad: Callable, run: Callable):
    """A program and what PyTorch makes of it; it ends at the first instruction that is refused."""
    choice = random.Random(seed)
    values = leaf_values(choice)
    first = leaves(values)
    made = list(first)
    program: list[Instruction] = []
    for _ in range(choice.randrange(5, 31)):
        detached = [len(first) + i for i, one in enumerate(program) if one.operator == "detach"]
        try:
            instruction = next_instruction(choice, made, detached)
        except RuntimeError as error:  # of a view that must not even be asked
            return values, program, Outcome(-1, [], [], error)
        program.append(instruction)
        try:
            made += instruction.run(aten, no_grad, made)
        except Exception as error:
            # Sizes that do not fit are no question of gradients: such an instruction is left out.
            if not is_about_gradients(error):
                program.pop()
                continue
            return values, program, Outcome(len(program) - 1, [], [], error)
    return values, program, finish(made, first, run, aten.sum.default)


def is_about_gradients(error: Exception) -> bool:
    text = str(error)
    return any(word in text for word in ("in-place", "inplace", "requires grad", "leaf", "no_grad"))
