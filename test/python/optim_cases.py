"""Optimizers with settings: the lines of optim_cases.txt, run with opyard.optim or torch.optim."""

import math
from pathlib import Path

TABLE = Path(__file__).parent / "autograd_graph" / "optim_cases.txt"
SHAPES = ((3, 2), (4,), (), (2,))  # of the parameters; the last one is of complex numbers
MATRICES = ((3, 2), (2, 5))


def numbers_of(place, step, count):
    """Numbers between -1 and 1 for a parameter at a step, which no library draws."""
    return [math.sin(1.7 * i + 2.9 * place + 0.83 * step + 0.4) for i in range(count)]


def nested(numbers, shape):
    if not shape:
        return numbers[0]
    size = len(numbers) // shape[0]
    rows = [numbers[i * size : (i + 1) * size] for i in range(shape[0])]
    return [nested(row, shape[1:]) for row in rows]


class Library:
    """A library and its words: `opyard` or `torch`, which have the same ones here."""

    def __init__(self, module):
        self.module = module

    def tensor(self, place, step, shape):
        numbers = numbers_of(place, step, 2 * math.prod(shape))
        if place == len(SHAPES) - 1:
            halves = len(numbers) // 2
            numbers = [
                complex(*pair) for pair in zip(numbers[:halves], numbers[halves:], strict=True)
            ]
            return self.module.tensor(nested(numbers, shape), dtype=self.module.complex128)
        return self.module.tensor(
            nested(numbers[: math.prod(shape)], shape), dtype=self.module.float64
        )

    def parameters(self, shapes):
        return [
            self.module.nn.Parameter(self.tensor(place, 0, shape))
            for place, shape in enumerate(shapes)
        ]


class OptimCase:
    """A line `optimizer | steps | answers`: numbers of the parameters after the steps.

    `~` in front leaves complex parameters out, `=` has matrices alone.
    """

    def __init__(self, line):
        text, steps, *answers = (part.strip() for part in line.split(" | "))
        self.text, self.steps = text, int(steps)
        self.shapes = {"~": SHAPES[:-1], "=": MATRICES}.get(text[0], SHAPES)
        self.made = text.lstrip("~=")
        self.answers = [float(each) for each in answers[0].split(",")] if answers else None
        self.name = self.made.partition("(")[0]

    def __repr__(self):
        return self.made

    @classmethod
    def all(cls):
        return [cls(line) for line in TABLE.read_text().splitlines() if line and line[0] != "#"]

    def optimizer(self, library, parameters):
        return eval(self.made, {**vars(library.module.optim), "p": parameters})

    def step(self, library, optimizer, parameters, number):
        if self.name == "LBFGS":
            return optimizer.step(lambda: closure(library, optimizer, parameters))
        for place, (parameter, shape) in enumerate(zip(parameters, self.shapes, strict=True)):
            parameter.grad = library.tensor(place, number, shape)
        return optimizer.step()

    def run(self, library):
        parameters = library.parameters(self.shapes)
        optimizer = self.optimizer(library, parameters)
        for number in range(1, self.steps + 1):
            self.step(library, optimizer, parameters, number)
        return self.digest(parameters), optimizer

    @staticmethod
    def digest(parameters):
        """A sum of each parameter with weights."""
        sums = []
        for parameter in parameters:
            flat = parameter.detach().reshape(-1).tolist()
            flat = [part for each in flat for part in parts_of(each)]
            sums.append(math.fsum(each * math.cos(i + 0.3) for i, each in enumerate(flat)))
        return sums


def parts_of(number):
    return (number.real, number.imag) if isinstance(number, complex) else (number,)


def closure(library, optimizer, parameters):
    """A valley that bends: its gradient, and how high it is."""
    optimizer.zero_grad()
    total = 0
    for parameter in parameters:
        flat = parameter.reshape(-1)
        if flat.dtype in (library.module.complex128,):
            flat = flat.real * 2 + flat.imag
        total = total + ((flat - 0.5) ** 2).sum() + ((flat * flat).sum() - 1) ** 2 * 3
    total.backward()
    return total
