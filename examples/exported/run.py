"""Runs and trains model.pt2, which PyTorch exported, without PyTorch, and saves it.

python run.py
"""

import sys
import tempfile
from pathlib import Path

import opyard

FOLDER = Path(__file__).resolve().parent


def main() -> None:
    model = opyard.jit.load(FOLDER / "model.pt2")
    x = opyard.tensor([[1.0, 2.0, 3.0, 4.0], [0.5, -0.5, 0.25, 1.0]])
    scale = {"scale": opyard.tensor([1.0])}
    outputs = model(x, scale)
    print("scores", outputs["scores"].tolist(), "twice the rows", outputs["rest"][1])

    # Parameters are leaves; a loss of the outputs gives them gradients.
    parameters = [parameter.requires_grad_() for parameter in model.parameters()]
    losses = []
    for _ in range(20):
        loss = model(x, scale)["scores"][:, 0].log().sum() * -1.0
        loss.backward()
        losses.append(loss.item())
        with opyard.autograd.no_grad():
            for parameter in parameters:
                parameter.sub_(parameter.grad * 0.1)
                parameter.grad = None
    print(f"loss {losses[0]:.4f}, after 20 steps {losses[-1]:.4f}")

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.safetensors"
        opyard.jit.save(model, path)
        again = opyard.jit.load(path)
        same = again(x, scale)["scores"].tolist() == model(x, scale)["scores"].tolist()
        print("saved and loaded:", same)
    assert losses[-1] < losses[0] and same
    assert "torch" not in sys.modules


if __name__ == "__main__":
    main()
