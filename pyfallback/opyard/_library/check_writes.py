"""opyard.dispatch.check_writes: checks calls of a program against their schemas.

    with opyard.dispatch.check_writes(sample=100):
        serve()

opcheck() asks that of one call with copies; this looks at the calls that a program makes anyway,
with the arguments that they have.
"""

import warnings
from typing import Any

from .. import _C
from .._core.keywords import names_keywords
from .._dispatch.modes import DispatchMode
from .declared import Watch, by_name, outputs_of
from .opcheck import OpCheckError, _list


class check_writes(DispatchMode):
    """Looks at calls of a with block of this thread: raises OpCheckError if one has written to an
    argument, or given back the memory of one, and its schema does not say so.

    Of each operator the first call is looked at and then each `sample`-th, so that a large number
    costs little: a call that is not looked at costs what a mode costs. Elements are compared up to
    `most_bytes` of a tensor; of larger ones the counted writes. With `warn` it gives a UserWarning
    in place of an exception, once for each fault of an operator, and the program goes on.

    Seen are the calls that modes see: those of the program, not those that kernels make. Raises
    ValueError for a `sample` below 1.
    """

    __module__ = "opyard.dispatch"

    @names_keywords
    def __init__(self, sample: int = 1, *, warn: bool = False, most_bytes: int = 1 << 20) -> None:
        if sample < 1:
            raise ValueError(
                f"check_writes: sample is {sample}; 1 looks at every call, 100 at each 100th"
            )
        self._sample, self._warn, self._most = sample, warn, most_bytes
        self._calls: dict[Any, int] = {}
        self._told: set[tuple[str, str]] = set()

    def __opyard_dispatch__(
        self,
        op: "_C.OpOverload",
        types: "tuple[type, ...]",
        args: "tuple[Any, ...]" = (),
        kwargs: "dict[str, Any] | None" = None,
    ) -> Any:
        kwargs = kwargs or {}
        count = self._calls.get(op, 0)
        self._calls[op] = count + 1
        if count % self._sample != 0:
            return op(*args, **kwargs)
        schema = op._schema
        watch = Watch(schema, by_name(schema, args, kwargs), self._most)
        result = op(*args, **kwargs)
        faults = watch.faults(outputs_of(schema, result))
        if faults:
            self._tell(op, faults)
        return result

    def _tell(self, op: "_C.OpOverload", faults: "list[str]") -> None:
        if not self._warn:
            raise OpCheckError(
                f"{op.name()}: a call did what its schema does not say: {_list(faults)}\n"
                f"Declaration: {op.declaration}"
            )
        for fault in faults:
            if (op.name(), fault) not in self._told:
                self._told.add((op.name(), fault))
                text = f"{op.name()}: {fault}\nDeclaration: {op.declaration}"
                warnings.warn(text, UserWarning, stacklevel=3)
