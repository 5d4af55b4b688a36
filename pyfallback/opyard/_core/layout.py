"""`opyard.Layout`: layouts of tensors in memory."""

import enum


class Layout(enum.IntEnum):
    """How a tensor's elements are ordered; the numbers are those that schemas print."""

    strided = 0
    sparse = 1

    def __repr__(self) -> str:
        return f"opyard.Layout.{self.name}"


Layout.__module__ = "opyard"


def layout_number(layout: object) -> int | None:
    """The number of a Layout, and None for what is none."""
    return int(layout) if isinstance(layout, Layout) else None
