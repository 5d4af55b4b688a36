"""What a session has seen of its workers, as a table, and how something travels, as sentences.

Of an operator that is also how calls of it on tensors of workers go: recorded, or by themselves.
"""

from collections.abc import Iterable
from typing import Any

from .. import _blocks
from .._C import OpOverload, OpOverloadPacket
from . import by_value, pickling, things
from .calls import Connection, label_of

_HEADINGS = ("worker", "state", "calls", "errors", "sent", "received", "there", "here")


def table(connections: "Iterable[Connection]") -> str:
    """A line for each worker: `there` is how long its calls ran, `here` how long until answers."""
    rows = [_HEADINGS]
    for each in connections:
        seen = each.statistics
        state = "lost" if each.ended is not None else "ready" if each.is_ready else "starting"
        rows.append(
            (
                str(each.number),
                state,
                str(seen.calls),
                str(seen.errors),
                _bytes(seen.bytes_out),
                _bytes(seen.bytes_in),
                _seconds(seen.busy),
                _seconds(seen.waited),
            )
        )
    widths = [max(len(row[column]) for row in rows) for column in range(len(_HEADINGS))]
    return "\n".join(
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in rows
    )


def _bytes(count: int) -> str:
    amount = float(count)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.0f} B" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1024
    return f"{amount:.1f} GiB"


def _seconds(seconds: float) -> str:
    return f"{seconds * 1000:.1f} ms" if seconds < 1 else f"{seconds:.2f} s"


def explain(function: Any, known: "dict[int, set[str]]") -> str:
    """How what is called travels, which workers have it, and what it writes into."""
    label = label_of(function)
    described = pickling.describe_callable(function)
    if isinstance(function, things.KINDS):
        described = things.describe(function, pickling.dumps)
    lines = []
    if isinstance(described, things.Thing):
        what = "by value" if described.kind == "function" else "as text and constants"
        have = [str(number) for number, digests in known.items() if described.digest in digests]
        lines.append(
            f"{label}: a {described.kind} that travels {what}, {len(described.content):,} bytes, "
            f"once to each worker, under the hash {described.digest[:12]}"
        )
        lines.append(f"  workers that have it: {', '.join(have) or 'none'}")
    else:
        is_operator = hasattr(function, "_schema") or isinstance(function, OpOverloadPacket)
        what = "an operator" if is_operator else "importable"
        lines.append(f"{label}: {what}, which travels as its name")
    lines += [f"  {_blocks.explain(each)}" for each in _overloads(function)]
    for schema in _schemas(function):
        written = [each.name for each in schema.arguments if each.is_write]
        if written:
            lines.append(
                f"  {schema}: writes into {', '.join(written)}, which a worker copies first if it "
                "is read-only, as what comes from an engine's store is"
            )
    if not isinstance(described, things.Thing) and by_value.is_importable(function):
        lines.append("  a worker that cannot import it says so when it is called")
    return "\n".join(lines)


def _overloads(function: Any) -> "list[Any]":
    if isinstance(function, OpOverloadPacket):
        return [getattr(function, name) for name in function.overloads()]
    return [function] if isinstance(function, OpOverload) else []


def _schemas(function: Any) -> "list[Any]":
    return [each._schema for each in _overloads(function)]
