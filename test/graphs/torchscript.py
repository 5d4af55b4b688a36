"""test/graphs/torchscript.py: writes torchscript.json: graphs that PyTorch prints, and results.

python torchscript.py
"""

import json
import math
from pathlib import Path
from typing import NamedTuple

import torch
from torch import Tensor, nn

LIBRARY = Path(torch.__file__).parent.parent
x = (torch.arange(12, dtype=torch.float32).reshape(3, 4) - 5) / 4
w = (torch.arange(16, dtype=torch.float32).reshape(4, 4) - 7) / 8
v = torch.tensor([0.5, -1.0, 2.0, 0.25])


def relu_chain(x: Tensor, w: Tensor, v: Tensor):
    return torch.relu(x @ w + v) * 2 - x


def branch(x: Tensor, w: Tensor, v: Tensor):
    if x.size(0) > 2 and bool(v.sum() > 0):
        y = x * 2
    else:
        y = x - 1
    return y


def loop(x: Tensor, w: Tensor, v: Tensor):
    y = x
    for i in range(3):
        y = y + i
        if i == 1:
            y = y * 0.5
    return y


def while_loop(x: Tensor, w: Tensor, v: Tensor):
    n = 0
    y = x
    while n < 4:
        y = y + v
        n += 2
    return y, n


def lists(x: Tensor, w: Tensor, v: Tensor):
    items: list[Tensor] = []
    for i in range(x.size(0)):
        items.append(x[i] * float(i))
    return torch.stack(items), len(items)


def tuples(x: Tensor, w: Tensor, v: Tensor):
    pair = (x + 1, v)
    a, b = pair
    return a * b, pair[1]


def numbers(x: Tensor, w: Tensor, v: Tensor):
    a = x.size(0) * 3 - 2
    b = a // 2 + a % 3
    c = float(b) / 4.0
    return x * c + b, a > b, max(a, b)


def views(x: Tensor, w: Tensor, v: Tensor):
    return x.t().reshape(2, 6).narrow(1, 1, 3), x[:, 1:3], x[-1], x.unsqueeze(0).transpose(1, 2)


def reduce(x: Tensor, w: Tensor, v: Tensor):
    return x.sum(), x.sum(1, keepdim=True), x.mean(0), x.max(), x.abs().sqrt().sum(0)


def in_place(x: Tensor, w: Tensor, v: Tensor):
    y = x.clone()
    y += v
    y.mul_(2)
    y[0] = 0
    return y


def optional(x: Tensor, w: Tensor, v: Tensor):
    z: Tensor | None = None
    if x.size(1) == 4:
        z = x
    if z is not None:
        return z + 1
    return w


def compare(x: Tensor, w: Tensor, v: Tensor):
    return torch.where(x > 0, x, -x), x == 0, (x > 0) & (x < 1)


def softmax(x: Tensor, w: Tensor, v: Tensor):
    return torch.softmax(x, 1), torch.log_softmax(x, -1)


def cells(x: Tensor, w: Tensor, v: Tensor):
    h = torch.zeros(3, 4)
    c = torch.zeros_like(x)
    for _ in range(2):
        g = torch.mm(x, w) + torch.mm(h, w)
        i = torch.sigmoid(g)
        c = i * c + (1 - i) * torch.tanh(g)
        h = torch.tanh(c) * i
    return h, c


def dictionary(x: Tensor, w: Tensor, v: Tensor):
    d = {"a": x, "b": x * 2}
    return d["a"] + d["b"], len(d)


def cat(x: Tensor, w: Tensor, v: Tensor):
    return torch.cat([x, w], 0), torch.stack([v, v], 1)


def integers(x: Tensor, w: Tensor, v: Tensor):
    k = torch.arange(6)
    return k * 2 + 1, k // 4, k % 4, k.to(torch.float32) / 3


def early(x: Tensor, w: Tensor, v: Tensor):
    if x.dim() != 2:
        raise ValueError("two dimensions are wanted")
    n = 0
    for i in range(10):
        if i > 3:
            break
        n += i
    return x + n


def casts(x: Tensor, w: Tensor, v: Tensor):
    n = int(v.sum().item())
    return x.to(torch.float64) * n, x.int(), float(v[0]), bool(v[1] > 0)


def texts(x: Tensor, w: Tensor, v: Tensor):
    s = "abc"
    t = s + "d"
    return len(t), t == "abcd", x


def ranges(x: Tensor, w: Tensor, v: Tensor):
    n = 0
    for i in range(1, 10, 3):
        n += i
    for j in range(5, 0, -2):
        n += j * 10
    for k in range(x.size(0), x.size(1) + 4):
        n += k * 100
    return x + n, n


def list_methods(x: Tensor, w: Tensor, v: Tensor):
    a = [3, 1, 2]
    a.append(5)
    a.insert(0, 7)
    a.extend([1, 1])
    p = a.pop()
    q = a.pop(1)
    a.sort()
    b = a.copy()
    b.reverse()
    b.remove(1)
    found = a.index(5), a.count(1), min(a), max(a), sum(a), 5 in a, a[-1]
    c = [1.5, 2.5]
    c[0] = 9.0
    c[-1] += 1.0
    del c[0]
    return a, b, p, q, found, a[1:3], a[::2], sorted(b), c, c + c, c * 2, c == [3.5]


def dict_methods(x: Tensor, w: Tensor, v: Tensor):
    d = {"a": 1}
    d["b"] = 2
    d["a"] += 5
    n = 0
    for k in d.keys():
        n += d[k]
    for name, number in d.items():
        n += number * len(name)
    for number in d.values():
        n += number
    got = d.get("zz", 7)
    popped = d.pop("a")
    c = d.copy()
    c.update({"e": 5})
    d.clear()
    return n, got, popped, "a" in c, len(c), len(d), list(c.keys()), list(c.values())


def dict_of_tensors(x: Tensor, w: Tensor, v: Tensor):
    d: dict[int, Tensor] = {}
    for i in range(3):
        d[i] = x[i]
    t = d[0]
    for k in d:
        t = t + d[k]
    for number, row in d.items():
        t = t + row * number
    return t, 2 in d


def text_methods(x: Tensor, w: Tensor, v: Tensor):
    a = "Hello"
    if x.size(0) == 3:
        a = a + ", you"
    said = f"{a} and {x.size(0)}" + f"{len(a)}:{a}"
    changed = a.lower(), a.upper(), a.replace("l", "L"), a.strip("Hu"), a[1:3] + a[-1]
    asked = a.startswith("He"), a.endswith("x"), a.find("l"), a.rfind("l"), a.count("l"), a < "Z"
    n = 0
    for c in a:
        if c == "l":
            n += 1
    return said, changed, asked, n, a.split(", "), "-".join([a, "y"]), str(n), ord(a[0]), a == "x"


def escaped_text(x: Tensor, w: Tensor, v: Tensor):
    return "tab\t line\n quote\" apostrophe' back\\ \x01"


def float_functions(x: Tensor, w: Tensor, v: Tensor):
    a = float(x.size(0))
    one = math.sin(a), math.cos(a), math.tan(a), math.sqrt(a), math.exp(a), math.log(a)
    two = math.log10(a), math.log1p(a), math.expm1(a), math.tanh(a), math.sinh(a), math.erf(a)
    three = math.gamma(a), math.lgamma(a), math.degrees(a), math.radians(a), math.fabs(-a)
    four = math.atan2(a, 2.0), math.fmod(a, 2.0), math.copysign(1.0, -a), math.pow(a, 2.0)
    five = math.floor(a + 0.5), math.ceil(a + 0.5), round(a + 0.5), round(a)
    return one, two, three, four, five, math.isnan(a), math.isinf(a), math.isfinite(a)


def int_functions(x: Tensor, w: Tensor, v: Tensor):
    a = x.size(0)
    b = x.size(1)
    both = a << 2, a >> 1, a & b, a | b, a ^ b, -a // b, -a % b, divmod(17, a), divmod(7.5, a)
    mixed = min(a, 2.5), max(a, 2.5), a > 1.5, 1 < a < 9, min(a, b, 1), max([a, b]), a**2, 2.0**a
    truth = a > 2
    other = b > 9
    return both, mixed, any([truth, other]), all([truth, other]), truth ^ other, sum([1.5, a / b])


def scalars(x: Tensor, w: Tensor, v: Tensor):
    a = v[0].item()
    b = x.size(0)
    return float(a * 2), float(a + b), float(a - a), float(a / 2), a < b, a == 0.5, int(-a), x * a


def early_return(x: Tensor, w: Tensor, v: Tensor):
    if x.size(0) > 5:
        return x * 2
    y = x + 1
    for i in range(5):
        if i == 3:
            return y * i
    return y * w.sum()


def continued(x: Tensor, w: Tensor, v: Tensor):
    n = 0
    i = 0
    while True:
        i += 1
        if i % 2 == 0:
            continue
        if i > 9:
            break
        n += i
    return n


def refined(x: Tensor, w: Tensor, v: Tensor):
    t: Tensor | None = v
    if t is not None and t.size(0) == 4:
        r = t + 1
    else:
        r = v
    assert t is not None
    assert x.size(0) == 3, f"three rows, not {x.size(0)}"
    maybe: Tensor | int = x
    if isinstance(maybe, Tensor):
        r = r + maybe
    return r + t


class Pair(NamedTuple):
    a: Tensor
    b: int


def named_tuple(x: Tensor, w: Tensor, v: Tensor):
    p = Pair(x + 1, x.size(0))
    m = x.max(1)
    return p.a * p.b, p[1], p, m.values, m[1]


def zipped(x: Tensor, w: Tensor, v: Tensor):
    n = 0.0
    for i, a in enumerate([1.5, 2.5, 3.5]):
        n += i * a
    for k, b in zip([1, 2], [3.5, 4.5], strict=False):
        n += k * b
    for i, r in enumerate(x):
        n += float(r.sum()) * i
    return n, [2 * i for i in range(x.size(1))], torch.stack([r + 1 for r in x.unbind(0)])


def made_of_lists(x: Tensor, w: Tensor, v: Tensor):
    nothing: list[int] = []
    return torch.tensor([1, x.size(0)]), torch.tensor([[1.5, 2.0], [3.0, 4.0]]), len(nothing)


def converted(x: Tensor, w: Tensor, v: Tensor):
    half = x.to(torch.float16).to(x)
    return x.long(), x.double(), half, x.to("cpu"), x.cpu(), x.to(w.device, torch.float64)


def asked(x: Tensor, w: Tensor, v: Tensor):
    kind = x.is_floating_point(), x.is_complex(), x.is_cuda, x.element_size()
    return x.shape, list(x.shape), x.stride(), kind, x.dtype == torch.float32, x.device == v.device


def indexed(x: Tensor, w: Tensor, v: Tensor):
    i = torch.tensor([0, 2])
    y = x.clone()
    y[1, 2] = 5
    y[:, 0] = v[:3]
    y[y < 0] = 0.0
    return x[i], x[:, i], x[x > 0], x[..., -1], x[None], y


def embedded(x: Tensor, w: Tensor, v: Tensor):
    return nn.functional.embedding(torch.tensor([[0, 1], [3, 2]]), w)


def printed_constants(x: Tensor, w: Tensor, v: Tensor):
    flags = torch.tensor([True, False, True, True])
    small = torch.tensor([0.001, 0.002, -0.004, 0.25])
    cube = torch.tensor([[[1.5, -2.0], [0.0, 4.25]], [[1.0, 2.0], [3.0, -0.5]]])
    wide = torch.tensor([-5, 1000000, 3, 4])
    tiny = torch.tensor([1e-5, 2e-5, 3e-5, -4e-5])
    ends = torch.tensor([math.inf, -math.inf, 1.0, 2.0])
    return x + small, v * flags, cube + v[:2], wide + 1, tiny * 2, ends, x * torch.tensor(2.5)


class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.LSTMCell(4, 3)
        with torch.no_grad():
            for weight in self.cell.parameters():
                weight.copy_(torch.arange(weight.numel()).reshape(weight.shape) % 7 / 8 - 0.25)

    def forward(self, x: Tensor, w: Tensor, v: Tensor):
        h, c = self.cell(x)
        return h, c


def plain(value):
    if isinstance(value, Tensor):
        return {
            "dtype": str(value.dtype).split(".")[1],
            "sizes": list(value.shape),
            "values": value.reshape(-1).tolist(),
        }
    if isinstance(value, (tuple, list)):
        return [plain(e) for e in value]
    return value


def elided(graph):
    """What each <Tensor> of the text is: a constant of more than ten elements."""
    for node in graph.nodes():
        if node.kind() == "prim::Constant" and node.output().type().kind() == "TensorType":
            tensor = node.t("value")
            if tensor.numel() > 10:
                yield tensor


def main():
    found = {}
    for function in SCRIPTED:
        script = torch.jit.script(function)
        found[function.__name__] = (script, script(x.clone(), w, v))
    cell = torch.jit.freeze(torch.jit.script(Cell().eval()))
    found["frozen_cell"] = (cell, cell(x.clone(), w, v))
    for function in TRACED:
        traced = torch.jit.trace(function, (x.clone(), w, v))
        found["traced_" + function.__name__] = (traced, traced(x.clone(), w, v))
    entries = []
    for name, (made, result) in found.items():
        text = "".join(
            line.replace(__file__, "model.py").replace(f"{LIBRARY}/", "")
            for line in str(made.inlined_graph).splitlines(True)
        ).splitlines()
        lines = ",\n   ".join(map(json.dumps, text))
        tensors = [plain(each) for each in elided(made.inlined_graph)]
        entry = json.dumps(plain(result))
        if tensors:
            entry += f',\n  "tensors": {json.dumps(tensors)}'
        entries.append(f' {json.dumps(name)}: {{"result": {entry},\n  "text": [\n   {lines}\n  ]}}')
    written = "{\n" + ",\n".join(entries) + "\n}\n"
    Path(__file__).with_name("torchscript.json").write_text(written)


SCRIPTED = [
    relu_chain,
    branch,
    loop,
    while_loop,
    lists,
    tuples,
    numbers,
    views,
    reduce,
    in_place,
    optional,
    compare,
    softmax,
    cells,
    dictionary,
    cat,
    integers,
    early,
    casts,
    texts,
    ranges,
    list_methods,
    dict_methods,
    dict_of_tensors,
    text_methods,
    escaped_text,
    float_functions,
    int_functions,
    scalars,
    early_return,
    continued,
    refined,
    named_tuple,
    zipped,
    made_of_lists,
    converted,
    asked,
    indexed,
    embedded,
]
TRACED = [
    relu_chain,
    views,
    reduce,
    compare,
    cat,
    cells,
    integers,
    converted,
    indexed,
    embedded,
    printed_constants,
]

if __name__ == "__main__":
    main()
