"""test/bench/transformer.py: a small transformer that PyTorch exported, there and here.

    python test/bench/transformer.py

Needs PyTorch, NumPy and Opyard in one Python. Prints the parameters, and for each the least CPU
time of a run, in milliseconds, by one thread; the runs take turns.
"""

import tempfile
import time
from pathlib import Path

import torch

import opyard

WIDTH, HEADS, LAYERS, WORDS, LENGTH = 64, 4, 2, 256, 16


class Layer(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.before = torch.nn.LayerNorm(WIDTH)
        self.attended = torch.nn.Linear(WIDTH, 3 * WIDTH)
        self.joined = torch.nn.Linear(WIDTH, WIDTH)
        self.between = torch.nn.LayerNorm(WIDTH)
        self.wide = torch.nn.Linear(WIDTH, 4 * WIDTH)
        self.narrow = torch.nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        batch, length, width = x.shape
        heads = self.attended(self.before(x)).view(batch, length, 3, HEADS, width // HEADS)
        q, k, v = heads.permute(2, 0, 3, 1, 4)
        y = torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.joined(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(torch.nn.functional.gelu(self.wide(self.between(x))))


class Net(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.words = torch.nn.Embedding(WORDS, WIDTH)
        self.layers = torch.nn.ModuleList(Layer() for _ in range(LAYERS))
        self.norm = torch.nn.LayerNorm(WIDTH)
        self.scores = torch.nn.Linear(WIDTH, WORDS)

    def forward(self, words):
        x = self.words(words)
        for layer in self.layers:
            x = layer(x)
        return self.scores(self.norm(x))


def least(run, rounds=100):
    begin = time.thread_time()
    for _ in range(rounds):
        run()
    return (time.thread_time() - begin) / rounds * 1e3


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    opyard.set_num_threads(1)
    net = Net().eval()
    words = torch.randint(0, WORDS, (1, LENGTH))
    program = torch.export.export(net, (words,))
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "net.pt2"
        torch.export.save(program, path)
        model = opyard.jit.load(path)
    there, ours = program.module(), opyard.tensor(words.tolist())
    with torch.no_grad(), opyard.no_grad():
        expected = there(words)
        difference = max(
            abs(a - b)
            for a, b in zip(
                model(ours).flatten().tolist(), expected.flatten().tolist(), strict=True
            )
        )
        times = [(least(lambda: there(words)), least(lambda: model(ours))) for _ in range(15)]
    print(f"{sum(p.numel() for p in net.parameters()):,} parameters, differ by {difference:.1e}")
    print(f"PyTorch {min(t for t, _ in times):.3f} ms, Opyard {min(t for _, t in times):.3f} ms")


if __name__ == "__main__":
    main()
