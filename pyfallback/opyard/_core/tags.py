"""opyard.Tag: properties of an operator besides its schema."""

from collections.abc import Iterable
from enum import Enum

from .near_names import hint


class Tag(str, Enum):
    """What an operator is known to be. Given with its definition, read as `op.tags`.

    A member is a str as well, equal to its name.
    """

    # Element by element: the result has the broadcast shape of the arguments.
    pointwise = "pointwise"
    # Changes shape or strides of an argument, not its data.
    inplace_view = "inplace_view"
    # Draws random numbers, the same ones again from the same seed.
    nondeterministic_seeded = "nondeterministic_seeded"
    # Gives Python a number that depends on the data.
    data_dependent_output = "data_dependent_output"
    # The shape of the result depends on the data.
    dynamic_output_shape = "dynamic_output_shape"
    # One of the operators that others are made of.
    core = "core"
    # Written so that compilers may take it as it is.
    pt2_compliant_tag = "pt2_compliant_tag"
    # Made by a program from another operator.
    generated = "generated"
    # Wants its arguments with the order of strides that the caller gave them.
    needs_fixed_stride_order = "needs_fixed_stride_order"
    # Takes arguments of any strides.
    flexible_layout = "flexible_layout"
    # Writes to its first argument and gives that back.
    inplace = "inplace"
    # Writes its result to arguments that are given for it.
    out = "out"
    # Takes calls that an earlier overload of its name takes, and is meant to: no warning.
    overlaps = "overlaps"

    def __repr__(self) -> str:
        return f"Tag.{self.name}"

    def __str__(self) -> str:
        return self.name

    def __format__(self, spec: str) -> str:
        return format(self.name, spec)


def names_of(tags: "str | Iterable[str]") -> tuple[str, ...]:
    """The names of one tag or of several. Raises ValueError for what is none, with the known ones;
    TypeError for what is no str."""
    given = (tags,) if isinstance(tags, str) else tuple(tags)
    names = []
    for tag in given:
        if not isinstance(tag, str):
            raise TypeError(f"a tag must be a Tag or a str, not {type(tag).__name__}")
        name = tag.value if isinstance(tag, Tag) else tag
        if name not in Tag.__members__:
            known = ", ".join(Tag.__members__)
            near = hint(name, Tag.__members__)
            raise ValueError(f"{name!r} is no tag{near}; the known tags are {known}")
        names.append(name)
    return tuple(names)


def tag_of(name: str) -> "Tag | str":
    """The Tag of this name; the name if there is none, since C++ libraries may use any."""
    return Tag.__members__.get(name, name)
