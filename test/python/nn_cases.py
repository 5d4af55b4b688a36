"""Layers with arguments and inputs: the lines of nn_cases.txt, run with opyard.nn or torch.nn."""

import zlib
from pathlib import Path

import numpy as np

HERE = Path(__file__).parent / "training"
TABLE = HERE / "nn_cases.txt"


class Case:
    """A line `layer | arguments of the call | answers`; `~` in front is for eval() alone."""

    def __init__(self, line):
        layer, given, *answers = (part.strip() for part in line.split(" | "))
        self.only_eval = layer.startswith("~")
        self.layer, self.given = layer.removeprefix("~"), given
        self.answers = [float(each) for each in answers[0].split(",")] if answers else None
        self.name = self.layer.partition("(")[0]
        self.number = zlib.crc32(f"{layer} {given}".encode())

    def __repr__(self):
        return f"{self.layer} {self.given}"

    def run(self, library):
        """What a library gives, in its words."""
        names = {**library.names, **Inputs(self.number, library).names}
        layer = library.as_double(eval(self.layer, names))
        numbers = np.random.default_rng(self.number)
        state = {
            name: numbers.standard_normal(each.shape) * 0.5
            for name, each in sorted(layer.named_parameters())
        }
        library.load(layer, state)
        modes = [False] if self.only_eval else [True, False]
        return [self._run_once(library, layer, mode) for mode in modes], layer

    def _run_once(self, library, layer, mode):
        layer.train(mode)
        layer.zero_grad()
        made = Inputs(self.number, library)
        names = {**library.names, **made.names, "given": lambda *args, **kwargs: (args, kwargs)}
        args, kwargs = eval(f"given({self.given})", names)
        outputs = flat(layer(*args, **kwargs))
        total = 0
        for output in outputs:
            if library.is_float(output):
                total = total + (output * library.tensor(weights_of(output.shape))).sum()
        if getattr(total, "requires_grad", False):
            total.backward()
        parameters = [each for _, each in sorted(layer.named_parameters())]
        return {
            "outputs": [library.numbers(each) for each in outputs],
            "gradients": [gradient(library, each) for each in made.floats],
            "parameters": [gradient(library, each) for each in parameters],
            "buffers": [library.numbers(each) for _, each in sorted(layer.named_buffers())],
        }


def gradient(library, tensor):
    if tensor.grad is None:
        return np.zeros(tuple(tensor.shape))
    return library.numbers(tensor.grad)


def flat(output):
    if isinstance(output, (list, tuple)):
        return [each for one in output for each in flat(one)]
    return [] if output is None else [output]


def weights_of(shape):
    """Numbers by which elements are told apart in a sum."""
    return np.cos(np.arange(int(np.prod(shape, dtype=int)), dtype=float) + 0.5).reshape(shape)


def digest(runs):
    """A number for each kind of what was given; of a second mode for the outputs alone."""
    kinds = [*runs[0].values(), *(run["outputs"] for run in runs[1:])]
    return [
        float(sum((np.asarray(each, float) * weights_of(np.shape(each))).sum() for each in kind))
        for kind in kinds
    ]


class Inputs:
    """Tensors of a line: the same numbers for each library."""

    def __init__(self, seed, library):
        self.numbers, self.library, self.floats = np.random.default_rng(1000 + seed), library, []
        self.names = {
            name: getattr(self, name) for name in ("b", "c", "f", "i", "p", "s", "t", "u")
        }

    def _float(self, numbers):
        self.floats.append(self.library.leaf(numbers))
        return self.floats[-1]

    def f(self, *shape):
        """Normal numbers."""
        return self._float(self.numbers.standard_normal(shape))

    def u(self, *shape):
        """Numbers between 0.05 and 0.95."""
        return self._float(self.numbers.uniform(0.05, 0.95, shape))

    def p(self, *shape):
        """Probabilities along dimension 1, without a gradient."""
        drawn = self.numbers.uniform(0.05, 0.95, shape)
        return self.library.tensor(drawn / drawn.sum(1 if len(shape) > 1 else 0, keepdims=True))

    def c(self, *shape):
        """Numbers between 0.05 and 0.95 without a gradient."""
        return self.library.tensor(self.numbers.uniform(0.05, 0.95, shape))

    def i(self, below, *shape):
        """Whole numbers from 0."""
        return self.library.tensor(np.asarray(self.numbers.integers(0, below, shape)))

    def s(self, *shape):
        """1 or -1, without a gradient."""
        return self.library.tensor(self.numbers.integers(0, 2, shape) * 2.0 - 1)

    def b(self, *shape):
        """True or False, and False first along the last dimension."""
        drawn = self.numbers.integers(0, 2, shape).astype(bool)
        drawn[..., 0] = False
        return self.library.tensor(drawn)

    def t(self, given):
        """What is written there, without a gradient."""
        return self.library.tensor(np.array(given))


class Opyard:
    def __init__(self):
        import opyard

        self.opyard = opyard
        nn = opyard.nn
        self.names = dict(vars(nn))

    def as_double(self, layer):
        return layer.double()

    def load(self, layer, state):
        found = layer.load_state_dict(
            {name: self.tensor(each) for name, each in state.items()}, strict=False
        )
        assert not found.unexpected_keys

    def leaf(self, numbers):
        return self.tensor(numbers).requires_grad_()

    def tensor(self, numbers):
        return self.opyard.from_numpy(np.array(numbers))

    def numbers(self, tensor):
        return tensor.detach().numpy()

    def is_float(self, tensor):
        return tensor.dtype.is_floating_point


class Torch(Opyard):
    def __init__(self):
        import torch

        self.torch = torch
        self.names = vars(torch.nn)

    def tensor(self, numbers):
        return self.torch.from_numpy(np.array(numbers))


def cases():
    lines = [line for line in TABLE.read_text().splitlines() if line and line[0] != "#"]
    return [Case(line) for line in lines]


class Schedule:
    """A line `schedule | steps | answer` of schedule_cases.txt: a number of steps, what step() is
    called with, or measures as a text."""

    def __init__(self, line):
        self.text, self.said, *answer = (part.strip() for part in line.split(" | "))
        given = eval(self.said)
        if isinstance(given, int):
            self.steps = [()] * given
        else:
            numbers = map(float, given.split()) if isinstance(given, str) else given
            self.steps = [(number,) for number in numbers]
        self.answer = float(answer[0]) if answer else None

    def __repr__(self):
        return self.text

    @classmethod
    def all(cls):
        lines = (HERE / "schedule_cases.txt").read_text().splitlines()
        return [cls(line) for line in lines if line and line[0] != "#"]

    def made(self, names, optimizer):
        return eval(self.text, {**names, "o": optimizer})

    def rates(self, names, optimizer):
        return self.stepped(self.made(names, optimizer), optimizer, self.steps)

    def stepped(self, scheduler, optimizer, steps):
        """What the groups have at first and after each step."""
        found = []
        for step in [None, *steps]:
            if step is not None:
                optimizer.step()
                scheduler.step(*step)
            found.append([(each["lr"], each["momentum"]) for each in optimizer.param_groups])
        return found

    def torch_rates(self, torch):
        weights = [torch.nn.Parameter(torch.ones(1)) for _ in range(2)]
        groups = [{"params": [weights[0]], "lr": 0.5}, {"params": [weights[1]], "lr": 0.2}]
        names = {**vars(torch.optim.lr_scheduler), "SWALR": torch.optim.swa_utils.SWALR}
        return self.rates(names, torch.optim.SGD(groups, momentum=0.9))

    def digest(self, rates):
        numbers = np.asarray(rates, float)
        return float((numbers * weights_of(numbers.shape)).sum())
