"""The forward pass of a digits network as a graph: traced, cut in two, stepped through, drawn.

python digits_graph.py [--picture digits.svg]

Needs NumPy for the images. Every way of running the graph gives bit for bit what eager gives.
"""

import argparse
import gzip
from pathlib import Path

import numpy as np

import opyard
from opyard import jit

DATA = Path(__file__).resolve().parent.parent / "data" / "digits.csv.gz"
HIDDEN = 32


def load_images(count: int) -> opyard.Tensor:
    """float32[count, 64], from 0 to 1: real handwriting, 8 by 8 pixels a row."""
    with gzip.open(DATA, "rt") as file:
        rows = np.loadtxt(file, delimiter=",", max_rows=count, dtype=np.float32, ndmin=2)
    return opyard.from_numpy(np.ascontiguousarray(rows[:, :64]) / np.float32(16))


class Network:
    """Two layers with weights from a seed; what they know does not matter here."""

    def __init__(self, seed: int = 0) -> None:
        random = np.random.default_rng(seed)

        def weights(rows: int, columns: int) -> opyard.Tensor:
            values = random.standard_normal((rows, columns)) * np.sqrt(2 / rows)
            return opyard.from_numpy(values.astype(np.float32))

        self.w1, self.b1 = weights(64, HIDDEN), opyard.ops.aten.zeros([HIDDEN])
        self.w2, self.b2 = weights(HIDDEN, 10), opyard.ops.aten.zeros([10])

    def forward(self, images: opyard.Tensor) -> dict:
        logits = (images @ self.w1 + self.b1).relu() @ self.w2 + self.b2
        return {"likelihood": logits.log_softmax(1), "predicted": logits.argmax(1)}


def bits(tensor: opyard.Tensor) -> bytes:
    return tensor.numpy().tobytes()


def cut_behind(graph: jit.Graph, kind: str) -> jit.Graph:
    """The same program in two stages; the second begins behind the first node of a kind."""
    # The images are the only input, so the head is one line.
    head, *body = str(graph).splitlines()
    place = next(i for i, line in enumerate(body) if f"= {kind}" in line) + 1
    text = "\n".join([head, *body[:place], "  return ()", "stage 1():", *body[place:], ""])
    constants = [node for node in graph.nodes() if node.has_attribute("value")]
    weights = [node["value"] for node in constants if node.kind_of("value") == "t"]
    return jit.parse_ir(text, tensors=weights)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--picture", type=Path, help="where the drawing of both stages goes")
    options = parser.parse_args()
    network, images = Network(), load_images(100)
    eager = network.forward(images)

    traced = jit.trace(network.forward, images, check_inputs=[load_images(1)])
    print(traced.graph)
    result = traced(images)
    assert [bits(result[name]) for name in eager] == [bits(eager[name]) for name in eager]
    print("as a graph:   the same bits")

    staged = cut_behind(traced.graph, "aten::relu")
    code = jit.compile(staged)
    print(code.report())
    state = jit.InterpreterState(code)
    state.check_frees()
    state.run_one_stage(images)
    second = state.clone()
    for run in (state, second):
        outputs = run.run_one_stage()
        assert [bits(each) for each in outputs] == [bits(each) for each in eager.values()]
    print("in two stages, the second one twice: the same bits")

    state = jit.InterpreterState(traced.code)
    state.measure()
    state.begin_stage(images)
    while state.step():
        node = state.node()
        alive = ", ".join(repr(value) for value in state.live_values())
        print(f"next {node.kind if node is not None else 'the end':20} alive: {alive}")
    outputs = state.resume()
    assert [bits(each) for each in outputs] == [bits(each) for each in eager.values()]
    slowest = jit.times(state)[0]
    print(f"step by step: the same bits; instruction {slowest.instruction} took longest")

    picture = staged.draw()
    if options.picture is not None:
        options.picture.write_text(picture)
        print(f"drawn: {options.picture}")
    assert picture.startswith("<svg") and "aten::relu" in picture


if __name__ == "__main__":
    main()
