"""Untrusted graph texts: each is refused, ends by a budget, or runs and touches nothing (T18).

TEXTS maps a name to the text; all may call aten::mul and aten::add, and nothing else.
"""

from processes import volume


def calling(line, inputs="%x : Tensor", output="%y"):
    return f"graph({inputs}):\n  {line}\n  return ({output})\n"


def shared(levels):
    """Graphs that hold the one behind them twice: 2**levels if someone counts them one by one."""
    text = "graph(%x : Tensor):\n  %f : Future(Tensor) = prim::fork_0(%x)\n  return (%x)\n"
    for level in range(levels):
        text += f"with prim::fork_{level} = graph(%x : Tensor):\n"
        for twice in "ab":
            text += f"  %{twice} : Future(Tensor) = prim::fork_{level + 1}(%x)\n"
        text += "  return (%x)\n"
    return text + f"with prim::fork_{levels} = graph(%x : Tensor):\n  return (%x)\n"


def growing(line, head="", carried="%x", type="Tensor"):
    return (
        "graph(%x : Tensor):\n  %true : bool = prim::Constant[value=1]()\n"
        "  %one : int = prim::Constant[value=1]()\n"
        f"  %many : int = prim::Constant[value=9223372036854775807]()\n{head}"
        f"  %y : {type} = prim::Loop(%many, %true, {carried})\n"
        f"    block0(%i : int, %a : {type}):\n      %b : {type} = {line}\n      -> (%true, %b)\n"
        "  return (%y)\n"
    )


ONE = "  %l : int[] = prim::ListConstruct(%one)\n"
ADDED = "aten::add(%a, %a, %one)"

TEXTS = {
    # Operators that are not on the list, or are not operators.
    **{
        f"calls {name}": calling(f"%y : Tensor = {name}(%x)")
        for name in [
            "aten::relu",
            "aten::mul_",
            "aten::from_file",
            "os::system",
            "builtins::__import__",
            "__import__::os",
            "prim::Print",
            "prim::PythonOp",
            "prim::CppOp",
            "prim::Eval",
            "prim::CallFunction",
            "prim::GetAttr",
            "prim::fork",
            "aten::wait",
            "quantized::linear",
            "aten::mul\u200b",
            "aten::MUL",
            "aten::add.out",
            "prim::ImplicitTensorToNum",
        ]
    },
    "a Python function": calling("%y : Tensor = ^system()(%x)"),
    "a Python function with a text": calling('%y : Tensor = ^exec("import os")(%x)'),
    "a Python function of a path": calling('%y : Tensor = ^open("/etc/passwd")(%x)'),
    "a tensor from outside": calling("%y : Tensor = prim::Constant[value=<Tensor>]()"),
    "a graph from outside": calling("%y : Tensor = prim::Constant[value=<Graph>]()"),
    "an object from outside": calling("%y : Tensor = prim::Constant[value=<object>]()"),
    "a class": calling("%y : Tensor = aten::mul(%x, %x)", "%x : __torch__.os.System"),
    "a fork": "graph(%x : Tensor):\n  %f : Future(Tensor) = prim::fork_0(%x)\n"
    "  return (%f)\nwith prim::fork_0 = graph(%x : Tensor):\n  return (%x)\n",
    # Names and texts.
    **{
        f"the name {name!r}": calling(f"%y : Tensor = {name}::f(%x)")
        for name in [
            "../../etc",
            "a/b",
            "a\\b",
            "a;rm",
            "$(id)",
            "`id`",
            "<script>",
            "\u2028",
            "a'b",
        ]
    },
    "a value called as a path": calling("%../x : Tensor = aten::mul(%x, %x)", output="%../x"),
    "a byte of zero": "graph(%x : Tensor):\0\n  return (%x)\n",
    "a text with quotes": calling(
        '%y : str = prim::Constant[value="\\"; system(\\"id\\"); \\""]()'
    ),
    "a text with html": calling('%y : str = prim::Constant[value="</svg><script>x</script>"]()'),
    "an unknown escape": calling('%y : str = prim::Constant[value="\\q"]()'),
    "an open text": calling('%y : str = prim::Constant[value="abc]()'),
    "a scope as a path": calling("%y : Tensor = aten::mul(%x, %x), scope: ../../../etc/passwd"),
    "a name of a mebibyte": calling("%y : Tensor = aten::" + "m" * (1 << 20) + "(%x)"),
    "a value's name of a mebibyte": calling(f"%{'y' * (1 << 20)} : Tensor = aten::mul(%x, %x)"),
    "format fields": calling("%y : Tensor = aten::{0.__class__}(%x)"),
    "new names": calling("%y : Tensor = fresh::name[with_attribute=1](%x)"),
    "a new attribute": calling("%y : Tensor = aten::mul[fresh_attribute=1](%x, %x)"),
    # Size and depth.
    "a million nodes": "graph(%x : Tensor):\n"
    + "  %x : Tensor = aten::mul(%x, %x)\n" * volume(200_000)  # a million in a long run
    + "  return (%x)\n",
    "a million inputs": f"graph({', '.join(['%x : Tensor'] * 1_000_000)}):\n  return ()\n",
    "a million outputs": calling(", ".join(["%y : Tensor"] * 1_000_000) + " = aten::mul(%x, %x)"),
    "blocks in blocks": "graph(%c : bool):\n" + "  = prim::If(%c)\n    block0():\n" * 100_000,
    "parentheses": calling(f"%y : {'(' * 100_000}Tensor = aten::mul(%x, %x)"),
    "lists in lists": calling(f"%y : int[] = prim::Constant[value={'[' * 100_000}]()"),
    "types of types": calling("%y : Tensor" + "[]" * 100_000 + " = aten::mul(%x, %x)"),
    "optional types": calling("%y : Tensor" + "?" * 100_000 + " = aten::mul(%x, %x)"),
    "graphs that share": shared(60),
    "graphs in graphs": shared(3000),
    "a graph that holds itself": "graph(%x : Tensor):\n  return (%x)\n"
    "with prim::fork_0 = graph(%x : Tensor):\n  %f : Future(Tensor) = prim::fork_0(%x)\n"
    "  return (%x)\n",
    "a size of 2**60": calling(
        "%y : Tensor = aten::mul(%x, %x)", "%x : Float(1152921504606846976, 1152921504606846976)"
    ),
    "a size past 64 bits": calling("%y : Tensor = aten::mul(%x, %x)", f"%x : Float({'9' * 40})"),
    "an int past 64 bits": calling(f"%y : int = prim::Constant[value={'9' * 40}]()"),
    "a float past all": calling("%y : float = prim::Constant[value=1e999999999]()"),
    "a million digits": calling(f"%y : int = prim::Constant[value={'1' * 1_000_000}]()"),
    "stage two first": "graph(%x : Tensor):\n  return (%x)\nstage 2():\n  return (%x)\n",
    "a later stage's value": "graph(%x : Tensor):\n  return (%y)\nstage 1(%y : Tensor):\n"
    "  return (%y)\n",
    # Runs that do not end, and runs that grow.
    "an endless loop": growing("aten::mul(%a, %a)"),
    "a list that doubles": growing("aten::add(%a, %a)", ONE, "%l", "int[]"),
    "a text that doubles": growing(
        "aten::add(%a, %a)", '  %t : str = prim::Constant[value="ab"]()\n', "%t", "str"
    ),
    "a list repeated 2**60 times": growing("aten::mul(%a, %many)", ONE, "%l", "int[]"),
    "a list repeated 2**29 times": growing(
        "aten::mul(%a, %n)",
        ONE + "  %n : int = prim::Constant[value=536870912]()\n",
        "%l",
        "int[]",
    ),
    "a list that holds itself": growing(
        "aten::append(%a, %a)", "  %l : Any[] = prim::ListConstruct(%x)\n", "%l", "Any[]"
    ),
    "an exception": calling(
        '%t : str = prim::Constant[value="x"]()\n  prim::RaiseException(%t)'
    ).replace("(%y)", "(%x)"),
    "a division by zero": calling(
        "%z : int = prim::Constant[value=0]()\n  %y : int = aten::floordiv(%z, %z)"
    ),
    "a tensor from a number": calling(
        "%z : int = prim::Constant[value=0]()\n  %y : Tensor = aten::tensor(%z)"
    ),
    "sums without end": growing(ADDED),
}
