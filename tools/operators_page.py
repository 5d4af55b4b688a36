#!/usr/bin/env python3
"""tools/operators_page.py: writes docs/guides/operators.md from the built package.

It has the operators of aten, opyard and quantized_decomposed, and the methods of Tensor. Run it
with tools/python; --check compares.

Exit code: 0, or 1 with --check if the page is another one.
"""

import sys
from pathlib import Path

from generated import main

PAGE = Path(__file__).resolve().parent.parent / "docs" / "guides" / "operators.md"
HEAD = """# Operators and methods of Tensor

This page is written by `tools/operators_page.py` from the built package. `help(opyard.Tensor.sum)`
and `opyard.ops.aten.sum.__doc__` say the same at a prompt. An operator that is missing here is one
that `opyard.ops.aten` does not have; see [coming from PyTorch](from_pytorch.md).
"""
REASONS = {  # why an operator has no gradients that takes a tensor and gives one
    "gives bools": "all any eq ge gt isfinite isinf isnan isneginf isposinf le logical_and "
    "logical_not logical_or logical_xor lt ne signbit",
    "gives integers": "argmax argmin multinomial nonzero nonzero_static",
    "refused if self needs one": "resize_ resize_as_",
    "integers and bools alone": "bitwise_and bitwise_and_ bitwise_not bitwise_not_ bitwise_or "
    "bitwise_or_ bitwise_xor bitwise_xor_ bitwise_left_shift bitwise_left_shift_ "
    "bitwise_right_shift bitwise_right_shift_",
    "PyTorch has none either, backward() raises": "histc",
    "runs where nothing needs one": "convolution_stored",
    "not written yet, backward() raises": "scatter trigamma",
}
NONE = {name: reason for reason, names in REASONS.items() for name in names.split()}
COMPOSITE = ("ImplicitAutograd", "ExplicitAutograd", "ExplicitAutogradNonFunctional")
OPERATORS = """\
Backends are those with a kernel of the operator; a composite operator runs wherever what it
calls does, and has its gradients. A formula gives the gradients of an operator that has one. If
there are none, it says why not; backward() raises if it comes to an operator that has none and
whose result could have some.
"""
OF_FORMULAS = """\
These are not PyTorch's. Formulas of derivatives find them without a namespace, after the operator's
own and aten: `sum_to(grad, self)`. They may change from one release to the next, except `sum_to`.
"""
QUANTISED = """\
Programs of PyTorch that were quantised by pt2e call these; [models](models.md) have them.
"""
ANSWERS = """\
If NumPy is installed, and SciPy for special functions, these are computed by them on the
CPU if no kernel of the package does it, which then is listed above; see [arrays](arrays.md). They
are methods of Tensor, too. They run on Meta, unless sizes of their results depend on elements.
Gradients are those of the formulas that they have, which call operators as all others do; Fourier
transforms are made of three that have one. backward() through one without a formula raises.
"""


def backends(name: str) -> str:
    """CPU and Meta where it has a kernel there, or composite: wherever what it calls runs."""
    from opyard.dispatch import has_kernel

    found = [key for key in ("CPU", "Meta") if has_kernel(name, key)]
    if not found and any(has_kernel(name, f"Composite{kind}") for kind in COMPOSITE):
        found = ["composite"]
    return ", ".join(found)


def gradients(op: object) -> str:
    """What gives its gradients; if nothing does, why not."""
    from opyard.autograd import formulas

    schema = str(op._schema).partition("::")[2]
    name = schema.partition("(")[0]
    arguments, _, results = schema.rpartition(" -> ")
    packet, _, overload = name.partition(".")
    if given := formulas(op):
        if all(text.strip() == "None" for _, text in given):
            return "none: its result does not change with small changes of its arguments"
        functional = functional_form(op, overload) if packet.endswith("_") else None
        return "formula" if functional is None else f"formula of `{functional}`"
    if "!) out" in arguments:
        return "none: writes `out`"
    if "Tensor" not in results:
        return "none: gives no tensor"
    if "Tensor" not in arguments:
        return "none: takes no tensor"
    if packet in NONE:
        return "none: " + NONE[packet]
    if backends(op.name()) == "composite":
        return "of what it calls"
    raise LookupError(f"{name} has no gradients: say in NONE why not, or give it a formula")


def functional_form(op: object, overload: str) -> str | None:
    """The name of the operator whose formula an in-place form uses."""
    import opyard
    from opyard.autograd import formulas

    space, _, rest = op.name().partition("::")
    name = rest.partition(".")[0].removesuffix("_")
    packet = getattr(getattr(opyard.ops, space), name, None)
    form = packet and getattr(packet, overload or "default", None)
    return name + (f".{overload}" if overload else "") if form and formulas(form) else None


def of_ours() -> "dict[str, object]":
    """The packets of aten that no answer of NumPy's defines."""
    import opyard
    from opyard._numpy.names import MODULES

    answered = {name for names in MODULES.values() for name in names.split()}
    packets = {}
    for name in dir(opyard.ops.aten):
        packet = getattr(opyard.ops.aten, name, None)
        if packet is None:
            continue
        if name in answered and all(
            "_numpy" in provenance_of(f"aten::{name}", overload) for overload in packet.overloads()
        ):
            continue
        packets[name] = packet
    return packets


def provenance_of(name: str, overload: str) -> str:
    from opyard.dispatch import has_kernel, provenance

    full = name if overload == "default" else f"{name}.{overload}"
    keys = [key for key in ("CPU", "CompositeImplicitAutograd") if has_kernel(full, key)]
    return provenance(full, keys[0]) if keys else ""


def of_namespace(name: str) -> "dict[str, object]":
    """The packets of a namespace that is all ours."""
    import opyard

    space = getattr(opyard.ops, name)
    return {each: getattr(space, each) for each in dir(space)}


def operators(packets: "dict[str, object]") -> list[str]:
    lines = ["| schema | backends | gradients |", "| --- | --- | --- |"]
    for name, packet in packets.items():
        for overload in sorted(packet.overloads()):
            if "_numpy" in provenance_of(f"aten::{name}", overload):
                continue
            op = getattr(packet, overload)
            schema = str(op._schema).partition("::")[2].replace("|", "\\|")
            lines.append(f"| `{schema}` | {backends(op.name())} | {gradients(op)} |")
    return lines


def answers() -> list[str]:
    """The operators that NumPy or SciPy can answer, by the names that it is known by."""
    import textwrap

    from opyard._numpy.names import MODULES

    lines = []
    for module, names in MODULES.items():
        by = "SciPy" if module == "special" else "NumPy"
        lines += [f"{module} ({by}):", "", "```"]
        lines += textwrap.wrap(" ".join(names.split()), 120, break_on_hyphens=False)
        lines += ["```", ""]
    return lines


def methods(packets: "dict[str, object]") -> list[str]:
    """The public methods and properties of Tensor, each with what it is."""
    import opyard
    from opyard._numpy.names import MODULES

    answered = {name for names in MODULES.values() for name in names.split()} - set(packets)
    lines = []
    tensor = opyard.tensor([[1j]])  # which has all attributes
    for name in sorted(name for name in dir(tensor) if not name.startswith("_")):
        if name in answered:
            continue
        if name in packets and getattr(opyard.Tensor, name) is packets[name]:
            what = f"`aten.{name}`"
        else:
            text = getattr(opyard.Tensor, name).__doc__ or ""
            what = text.strip().split("\n")[0].replace("|", "\\|")
        lines.append(f"| `{name}` | {what} |")
    return lines


def page() -> str:
    packets = of_ours()
    parts = [HEAD, "## Methods and properties of Tensor\n", "| name | what it is |\n| --- | --- |"]
    parts[-1] += "".join("\n" + line for line in methods(packets)) + "\n"
    parts += ["## Operators of `opyard.ops.aten`\n", OPERATORS, *operators(packets)]
    formulas = operators(of_namespace("opyard"))
    parts += ["\n## Operators of `opyard.ops.opyard`\n", OF_FORMULAS, *formulas]
    quantised = operators(of_namespace("quantized_decomposed"))
    parts += ["\n## Operators of `opyard.ops.quantized_decomposed`\n", QUANTISED, *quantised]
    parts += ["\n## Answered by NumPy\n", ANSWERS, *answers()]
    return "\n".join(parts).rstrip("\n") + "\n"


if __name__ == "__main__":
    sys.exit(main("tools/operators_page.py", __doc__, PAGE, page))
