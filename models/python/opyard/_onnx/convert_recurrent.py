"""Recurrent networks: RNN, GRU and LSTM as loops over the steps of a sequence."""

from collections.abc import Callable, Sequence

from .convert import Converting, converts
from .convert_shapes import same
from .nodes import Node, Unconverted
from .writer import Known

_FUNCTIONS = {
    "tanh": "tanh({})",
    "sigmoid": "sigmoid({})",
    "relu": "relu({})",
    "softplus": "softplus({})",
}
Cell = Callable[[Converting, Node, int, list[str], Known, Sequence[Known]], Sequence[Known]]


def _functions(node: Node, default: list[str], directions: int) -> list[str]:
    names = node.get("activations") or default * directions
    texts = [_FUNCTIONS.get(name.lower(), "") for name in names]
    if "" in texts or node.has("activation_alpha") or node.has("activation_beta"):
        raise Unconverted(
            f"its activations {names} are not known; Tanh, Sigmoid, Relu and Softplus are"
        )
    return texts


def _clipped(node: Node) -> str:
    return f".clamp({-node['clip']!r}, {node['clip']!r})" if node.has("clip") else ""


def _run(
    c: Converting,
    node: Node,
    states: int,
    default: list[str],
    cell: Cell,
) -> list[Known]:
    """Outputs Y, and each state at the end, of all directions. `cell` gives the next states."""
    x, lengths = node.need(0), node.input(4)
    direction = node.get("direction", "forward")
    ways = {"forward": [False], "reverse": [True], "bidirectional": [False, True]}.get(direction)
    if ways is None:
        raise Unconverted(f"its direction {direction!r} is not known")
    batch_first = node.get("layout", 0) == 1
    steps = same(c.emit("x.transpose(0, 1)", x=x), x, 3) if batch_first else x
    functions = _functions(node, default, len(ways))
    ends: list[list[Known]] = []
    rows: list[Known] = []
    for way, turned in enumerate(ways):
        start = []
        for number in range(states):
            given = node.input(5 + number)
            if given is not None:
                body = "s.select(1, d)" if batch_first else "s.select(0, d)"
                start.append(c.emit(body, s=given, d=way))
            else:
                body = "zeros([size(x, 1), size(r, 2)], dtype=x_dtype)"
                start.append(c.emit(body, x=steps, r=node.need(2)))
        for each in start:
            same(each, x, 2)
        made = Known(c.writer.node("Tensor[]", "prim::ListConstruct"), type="Tensor[]")
        own = functions[way * len(default) : (way + 1) * len(default)]

        def step(
            index: Known,
            *state: Known,
            way: int = way,
            turned: bool = turned,
            made: Known = made,
            own: list[str] = own,
        ) -> list[Known]:
            t = c.emit("size(x, 0) - 1 - i", x=steps, i=index) if turned else index
            row = same(c.emit("x.select(0, t)", x=steps, t=t), x, 2)
            new = list(cell(c, node, way, own, row, state))
            out = new[0]
            if lengths is not None:
                live = c.emit("(n > t).unsqueeze(1)", n=lengths, t=t)
                new = [
                    c.emit("where(l, a, b)", l=live, a=a, b=b)
                    for a, b in zip(new, state, strict=True)
                ]
                out = c.emit("where(l, a, zeros_like(a))", l=live, a=out)
            c.writer.node("Tensor[]", "aten::append", made.name, out.name)
            return [same(each, x, 2) for each in new]

        ends.append(c.repeat(c.emit("size(x, 0)", x=steps), start, step))
        rows.append(c.emit("stack(xs, 0).flip([0])" if turned else "stack(xs, 0)", xs=made))
    joined = ", ".join(f"r{k}" for k in range(len(rows)))
    given_rows = {f"r{k}": each for k, each in enumerate(rows)}
    y = c.emit(
        f"stack([{joined}], 1)" + (".permute([2, 0, 1, 3])" if batch_first else ""), **given_rows
    )
    results = [same(y, x, 4)]
    for number in range(states):
        last = {f"r{k}": end[number] for k, end in enumerate(ends)}
        results.append(same(c.emit(f"stack([{joined}], {1 if batch_first else 0})", **last), x, 3))
    return results


def _gates(
    c: Converting, node: Node, way: int, row: Known, h: Known, body: str, **more: object
) -> list[Known]:
    """A body of x, h, the weights w and r, and the biases of both."""
    given: dict[str, object] = {
        "x": row,
        "h": h,
        "w": node.need(1),
        "r": node.need(2),
        "d": way,
    }
    lets = "let wx = w.select(0, d); let rh = r.select(0, d); let n = size(rh, 1);"
    bias = node.input(3)
    if bias is not None:
        given["bias"] = bias
        lets += "let b = bias.select(0, d); let half = size(b, 0) // 2;"
        lets += "let left = x @ wx.t() + b.slice(0, 0, half);"
        lets += "let right = h @ rh.t() + b.slice(0, half, 2 * half);"
    else:
        lets += "let left = x @ wx.t(); let right = h @ rh.t();"
    return c.emit_all(lets + body, **given, **more)


@converts("RNN")
def rnn(c: Converting, node: Node) -> list[Known]:
    def cell(
        c: Converting, node: Node, way: int, f: list[str], row: Known, state: Sequence[Known]
    ) -> list[Known]:
        return _gates(c, node, way, row, state[0], f[0].format(f"(left + right){_clipped(node)}"))

    return _run(c, node, 1, ["Tanh"], cell)


@converts("GRU")
def gru(c: Converting, node: Node) -> list[Known]:
    linear = node.get("linear_before_reset", 0) != 0
    clip = _clipped(node)

    def cell(
        c: Converting, node: Node, way: int, f: list[str], row: Known, state: Sequence[Known]
    ) -> list[Known]:
        gate = f[0].format(f"(left.slice(1, 0, 2 * n) + right.slice(1, 0, 2 * n)){clip}")
        body = f"let zr = {gate}; let z = zr.slice(1, 0, n); let reset = zr.slice(1, n, 2 * n);"
        if linear:
            inner = "left.slice(1, 2 * n, 3 * n) + reset * right.slice(1, 2 * n, 3 * n)"
        else:
            inner = "left.slice(1, 2 * n, 3 * n) + (reset * h) @ rh.slice(0, 2 * n, 3 * n).t()"
            if node.input(3) is not None:
                inner += " + b.slice(0, half + 2 * n, half + 3 * n)"
        body += f"let new = {f[1].format(f'({inner}){clip}')}; rsub(z, 1) * new + z * h"
        return _gates(c, node, way, row, state[0], body)

    return _run(c, node, 1, ["Sigmoid", "Tanh"], cell)


@converts("LSTM")
def lstm(c: Converting, node: Node) -> list[Known]:
    clip, joined = _clipped(node), node.get("input_forget", 0) == 1
    peep = node.input(7)

    def cell(
        c: Converting, node: Node, way: int, f: list[str], row: Known, state: Sequence[Known]
    ) -> list[Known]:
        more: dict[str, object] = {"memory": state[1]}
        body = "let all = left + right;"
        parts = {
            "i": "all.slice(1, 0, n)",
            "o": "all.slice(1, n, 2 * n)",
            "f": "all.slice(1, 2 * n, 3 * n)",
        }
        if peep is not None:
            more["peep"] = peep
            body += "let p = peep.select(0, d);"
            parts["i"] += " + p.slice(0, 0, n) * memory"
            parts["f"] += " + p.slice(0, 2 * n, 3 * n) * memory"
            parts["o"] += " + p.slice(0, n, 2 * n) * new"
        gate = {name: f[0].format(f"({text}){clip}") for name, text in parts.items()}
        body += f"let i = {gate['i']}; let fg = {'rsub(i, 1)' if joined else gate['f']};"
        body += f"let g = {f[1].format(f'(all.slice(1, 3 * n, 4 * n)){clip}')};"
        body += "let new = fg * memory + i * g;"
        body += f"let o = {gate['o']};"
        body += f"o * {f[2].format('new')}, new"
        return _gates(c, node, way, row, state[0], body, **more)

    return _run(c, node, 2, ["Sigmoid", "Tanh", "Tanh"], cell)
