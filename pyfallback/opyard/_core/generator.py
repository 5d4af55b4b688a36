"""opyard.Generator: a source of random numbers, for operators that take generator=."""

import operator
import os
from typing import NoReturn, final

from .. import _C
from .keywords import names_keywords
from .ops import ops

_WORDS = 2**64


def require_seed(seed: object) -> int:
    """A seed as an int. Raises TypeError for what is none."""
    if not hasattr(type(seed), "__index__"):
        raise TypeError(f"manual_seed: the seed must be an int, not {seed!r}")
    return operator.index(seed)  # type: ignore[arg-type]


@final
class Generator:
    """A source of random numbers: Generator(device="cpu").

    With one seed it gives the same numbers on every machine; they are not those of PyTorch. A new
    one begins with the seed 67280421310721. Raises NotImplementedError for a device without
    generators.
    """

    __slots__ = ("_capsule",)
    _capsule: object

    @names_keywords
    def __new__(cls, device: "str | _C.device" = "cpu") -> "Generator":
        made: Generator = ops.opyard.new_generator(device)
        return made

    def __init_subclass__(cls) -> NoReturn:
        raise TypeError("opyard.Generator has no subclasses")

    def __opyard_value__(self) -> object:
        return self._capsule

    @property
    def device(self) -> "_C.device":
        """Where its numbers are drawn."""
        found: _C.device = ops.opyard.generator_device(self)
        return found

    @names_keywords
    def manual_seed(self, seed: int) -> "Generator":
        """Begins the numbers of a seed, an int of 64 bits with or without a sign."""
        number = require_seed(seed)
        if not -_WORDS // 2 <= number < _WORDS:
            raise ValueError(f"manual_seed: the seed is {number}; accepted are -2**63 to 2**64 - 1")
        ops.opyard.seed_generator(self, number if number < _WORDS // 2 else number - _WORDS)
        return self

    def seed(self) -> int:
        """Begins the numbers of a seed that the system gives, and returns it."""
        fresh = int.from_bytes(os.urandom(8), "little")
        self.manual_seed(fresh)
        return fresh

    def initial_seed(self) -> int:
        """The seed that the numbers come from, without a sign."""
        seed: int = ops.opyard.generator_seed(self)
        return seed % _WORDS

    def get_state(self) -> "_C.Tensor":
        """The seed and what was drawn since: a tensor of uint8."""
        state: _C.Tensor = ops.opyard.generator_state(self)
        return state

    @names_keywords
    def set_state(self, state: "_C.Tensor") -> None:
        """Goes back to where get_state() gave this state."""
        ops.opyard.set_generator_state(self, state)

    def clone_state(self) -> "Generator":
        """Another generator in the same state."""
        made: Generator = ops.opyard.clone_generator(self)
        return made

    def __reduce__(self) -> tuple:
        return Generator, (str(self.device),), self.get_state()

    __setstate__ = set_state

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Generator):
            return NotImplemented
        return self._identity() == other._identity()

    def __hash__(self) -> int:
        return self._identity()

    def _identity(self) -> int:
        number: int = ops.opyard.generator_identity(self)
        return number

    def __repr__(self) -> str:
        return f"<opyard.Generator on {self.device}>"


def from_capsule(capsule: object) -> Generator:
    """The generator of a capsule that _C made."""
    made: Generator = object.__new__(Generator)
    made._capsule = capsule
    return made
