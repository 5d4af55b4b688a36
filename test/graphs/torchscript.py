"""test/graphs/torchscript.py: writes torchscript.json: what PyTorch prints and computes.

python torchscript.py
"""

import json
from pathlib import Path

import torch
from torch import Tensor

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


def main():
    found = {}
    for function in SCRIPTED:
        script = torch.jit.script(function)
        found[function.__name__] = (script, script(x.clone(), w, v))
    for function in TRACED:
        traced = torch.jit.trace(function, (x.clone(), w, v))
        found["traced_" + function.__name__] = (traced, traced(x.clone(), w, v))
    entries = []
    for name, (made, result) in found.items():
        text = str(made.inlined_graph).replace(__file__, "model.py").splitlines()
        lines = ",\n   ".join(map(json.dumps, text))
        result = json.dumps(plain(result))
        entries.append(
            f' {json.dumps(name)}: {{"result": {result},\n  "text": [\n   {lines}\n  ]}}'
        )
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
]
TRACED = [relu_chain, views, reduce, compare, cat, cells, integers]

if __name__ == "__main__":
    main()
