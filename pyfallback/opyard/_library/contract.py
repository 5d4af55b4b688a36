"""Requirements of tags on a schema: an in-place operator writes to its first argument and gives it,
and one with out= arguments to these.

infer_schema() declares what they stand for; custom_op() checks a schema that was written.
"""

from collections.abc import Callable
from typing import Any, NoReturn


def _is_tensor(type_: Any) -> bool:
    return type_.kind == "Tensor"


def has_tensor(type_: Any) -> bool:
    return _is_tensor(type_) or any(map(has_tensor, type_.elements))


def written_arguments(schema: Any) -> list[Any]:
    return [argument for argument in schema.arguments if argument.is_write]


def _without_results(text: str) -> str:
    """The text of an inferred schema, without what it returns."""
    return text[: text.rindex(" -> ")]


def _marked(argument: Any) -> str:
    """'Tensor(a!)', of 'Tensor(a!) x'."""
    return str(argument).partition(" ")[0]


class Contract:
    """What the tags of an operator ask of its schema. Messages name the operator and the tag."""

    def __init__(self, name: str, tags: tuple[str, ...], asked: str = "custom_op") -> None:
        self.name, self.tags = name, tags
        self._asked = asked  # the function that a caller has called
        if "inplace" in tags and "out" in tags:
            raise ValueError(
                f"{asked}: {name} has the tags Tag.inplace and Tag.out, which exclude each other"
            )

    def refuse(self, tag: str, what: str, schema: Any) -> NoReturn:
        raise ValueError(
            f"{self._asked}: {self.name} has the tag Tag.{tag}, so {what}. Got {schema}"
        )

    def declare(self, parse: Callable[[str], Any], text: str) -> str:
        """An inferred schema, with the aliases that the tags stand for."""
        schema = parse(text)
        if "inplace" in self.tags:
            self._check_inplace(schema, inferred=True)
            return f"{_without_results(text)} -> Tensor(a0!)"
        if "out" in self.tags:
            self._check_out(schema, inferred=True)
            numbered = enumerate(schema.arguments)
            marks = [f"Tensor(a{i}!)" for i, argument in numbered if argument.is_write]
            results = marks[0] if len(marks) == 1 else f"({', '.join(marks)})"
            return f"{_without_results(text)} -> {results}"
        return text

    def check(self, schema: Any) -> None:
        if "inplace" in self.tags:
            self._check_inplace(schema, inferred=False)
        elif "out" in self.tags:
            self._check_out(schema, inferred=False)
        else:
            self._check_names(schema)

    def _check_inplace(self, schema: Any, inferred: bool) -> None:
        first = schema.arguments[0] if schema.arguments else None
        if first is None or first.kwarg_only or not _is_tensor(first.type):
            self.refuse("inplace", "its first positional argument must be a Tensor", schema)
        if [each.name for each in written_arguments(schema)] != [first.name]:
            self.refuse(
                "inplace",
                f"its first positional argument must be all that it writes to: mutates_args is "
                f"['{first.name}']",
                schema,
            )
        if len(schema.returns) != 1 or not _is_tensor(schema.returns[0].type):
            self.refuse("inplace", "its return annotation must be a single Tensor", schema)
        if not inferred and schema.returns[0].alias_info != first.alias_info:
            self.refuse(
                "inplace", f"its return must alias '{first.name}', as in {_marked(first)}", schema
            )

    def _check_out(self, schema: Any, inferred: bool) -> None:
        written = written_arguments(schema)
        for each in written:
            if not each.kwarg_only:
                self.refuse(
                    "out", f"what it writes to must be keyword-only; '{each.name}' is not", schema
                )
            if not _is_tensor(each.type):
                self.refuse(
                    "out", f"it only supports arguments of type Tensor to write to; '{each.name}' "
                    f"is of type {each.type}", schema,
                )  # fmt: skip
        if not written:
            self.refuse("out", "it must write to at least one keyword-only Tensor", schema)
        marks = [_marked(each) for each in written]
        if len(schema.returns) != len(written) or not all(
            _is_tensor(each.type) for each in schema.returns
        ):
            self.refuse(
                "out", "its return annotation must be a Tensor for each argument that it writes "
                f"to, which are {', '.join(each.name for each in written)}", schema,
            )  # fmt: skip
        if not inferred and [each.alias_info for each in schema.returns] != [
            each.alias_info for each in written
        ]:
            self.refuse(
                "out", f"its return must alias the arguments that it writes to, in order: "
                f"{', '.join(marks)}", schema,
            )  # fmt: skip

    def _check_names(self, schema: Any) -> None:
        for argument in schema.arguments:
            if argument.kwarg_only and has_tensor(argument.type):
                raise NotImplementedError(
                    f"custom_op: {self.name} takes the tensor '{argument.name}' by keyword only, "
                    "and a backward gives its gradients by position. Take it by position; only "
                    "what results are written to may be keyword-only, with Tag.out"
                )
