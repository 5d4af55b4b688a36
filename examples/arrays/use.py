"""use.py: one library of kernels, called with the arrays of NumPy and with tensors of PyTorch.

python use.py --library build/libarrays.so
"""

import argparse

import numpy as np

import opyard


def show(name, make, address):
    """Calls the operators with arrays that `make` makes of lists; nothing here names a library."""
    arrays = opyard.ops.arrays
    x, y = make([[1.0, 2.0], [3.0, 5.0]]), make([[1.0, 1.0], [1.0, 1.0]])
    total = arrays.scaled_add(x, y, alpha=2.0)
    print(f"{name}: scaled_add {total.tolist()}, of the same kind: {type(total) is type(x)}")
    print(f"{name}: clip_ gives its argument back: {arrays.clip_(x, 1.5, 4.0) is x}, {x.tolist()}")
    mean, variance = arrays.moments(x)
    print(f"{name}: moments {mean.tolist()} {variance.tolist()}")
    rows = arrays.rows(x)
    rows[1][0] = 7.0  # a view of x
    print(f"{name}: rows are views: {x.tolist()}, {address(rows[0]) == address(x)}")
    print(f"{name}: softmax {[round(p, 3) for p in arrays.softmax(y).tolist()[0]]}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True, help="the library that arrays.cpp became")
    opyard.load_library(parser.parse_args().library)

    show("NumPy", lambda v: np.array(v, np.float32), lambda a: a.ctypes.data)
    frozen = np.zeros(3, np.float32)
    frozen.flags.writeable = False
    try:
        opyard.ops.arrays.clip_(frozen, 0.0, 1.0)
    except ValueError as error:
        print("NumPy: refused:", str(error).splitlines()[0].partition(": ")[2])

    try:
        import torch
    except ImportError:
        print("PyTorch: not installed, skipped")
        return
    show("PyTorch", torch.tensor, lambda t: t.data_ptr())
    mixed = opyard.ops.arrays.scaled_add(torch.ones(1, 2), np.float32([[1.0, 2.0]]))
    print(f"PyTorch: with an array of NumPy {mixed.tolist()}, {type(mixed).__name__}")


if __name__ == "__main__":
    main()
