"""Operators of a file that cannot run here: collected, and raised as one error."""

from collections import Counter
from typing import Any

from .tensors import STRING

_SEQUENCES = {
    "SequenceAt", "SequenceConstruct", "SequenceEmpty", "SequenceErase", "SequenceInsert",
    "SequenceLength", "SequenceMap", "SplitToSequence", "ConcatFromSequence", "Optional",
    "OptionalGetElement", "OptionalHasElement",
}  # fmt: skip
_STRINGS = {
    "StringConcat", "StringNormalizer", "StringSplit", "RegexFullMatch", "TfIdfVectorizer",
    "LabelEncoder", "CategoryMapper", "DictVectorizer",
}  # fmt: skip
_TRAINING = {"Adagrad", "Adam", "Momentum", "Gradient"}


def family_reason(kind: str) -> str:
    """Why an operator of a family is never read; empty for one that might be."""
    if kind in _SEQUENCES:
        return "sequences, maps and optional values are not read, tensors are"
    if kind in _STRINGS:
        return "texts are not read, numbers are"
    if kind in _TRAINING:
        return "it trains; load the model without it, and train by opyard.optim"
    if kind == "ImageDecoder":
        return "it reads files of pictures, which nothing here does"
    return ""


class Refusals:
    """What was refused, by operator and reason: how often, and the first node's name."""

    def __init__(self) -> None:
        self.names: set[str] = set()  # what the refused nodes would have computed
        self._counts: Counter[tuple[str, str, str]] = Counter()
        self._first: dict[tuple[str, str, str], str] = {}

    def add(self, node: Any, reason: str) -> None:
        """One node more."""
        key = (node.domain, node.kind, family_reason(node.kind) or reason)
        self._counts[key] += 1
        place = f'node "{node.name}"' if node.name else f"the node of {node.outputs[:1]}"
        self._first.setdefault(key, place)

    def message(self, what: str) -> str:
        """The error's text; empty if nothing was refused."""
        if not self._counts:
            return ""
        kinds = {(domain, kind) for domain, kind, _ in self._counts}
        verb = "is" if len(kinds) == 1 else "are"
        lines = [f"{what} cannot run here: {len(kinds)} of its operators {verb} not available"]
        for key, count in sorted(self._counts.items()):
            domain, kind, reason = key
            times = "time" if count == 1 else "times"
            named = f"{domain}.{kind}" if domain else kind
            lines.append(f"  {named}, {count} {times}, first at {self._first[key]}: {reason}")
        addable = [(d, k) for d, k, _ in sorted(self._counts) if not family_reason(k)]
        if addable:
            domain, kind = addable[0]
            space = (domain or "onnx").replace(".", "_")
            lines += [
                f"An operator {space}::{kind} is called in its place if it is defined and allowed, "
                "with the node's inputs and attributes:",
                "  from opyard.library import Library",
                "",
                f'  lib = Library("{space}", "FRAGMENT")  # keep it',
                "  lib.composite(",
                f'      "{kind}(Tensor x, *, float alpha=1.0) -> Tensor",  # as the node has them',
                '      "x * alpha",  # operators of aten; or lib.define() and lib.impl(), a kernel',
                "  )",
                f'  model = opyard.jit.load(path, allowed=["{space}::{kind}"])',
            ]
        return "\n".join(lines)


def refuse_type(name: str, type: Any) -> str:
    """Why an input of this type is not read; empty for a tensor of numbers."""
    for kind in ("sequence", "map", "sparse", "optional"):
        if type is not None and getattr(type, kind) is not None:
            return f'input "{name}" is of the kind {kind}, and tensors are read'
    if type is not None and type.tensor is not None and type.tensor.dtype == STRING:
        return f'input "{name}" has texts, and tensors of numbers are read'
    return ""
