"""Fits a curve through an operator of C++ whose derivative is one line: python train.py LIBRARY."""

import sys

import opyard
from opyard import autograd


def main() -> None:
    opyard.load_library(sys.argv[1])
    softsign = opyard.ops.gradients.softsign
    x = opyard.tensor([[i / 4 - 2.0] for i in range(17)])
    wanted = x / (x.abs() + 0.5)
    weights = [opyard.tensor([[0.3]]).requires_grad_(), opyard.tensor([[0.1]]).requires_grad_()]
    first = last = 0.0
    for step in range(200):
        inner, outer = weights
        differs = softsign(x * inner) * outer - wanted
        loss = (differs * differs).sum() / 17
        loss.backward()
        last = loss.item()
        first = last if step == 0 else first
        with autograd.no_grad():
            for weight in weights:
                weight -= weight.grad * 0.5
                weight.grad = None
    print(f"loss {first:.4f} before, {last:.6f} after 200 steps")
    assert last < first / 100


if __name__ == "__main__":
    main()
