"""Steps of test_leaks.py with operators whose kernels are texts."""

import os
import tempfile

import opyard
import opyard.library as lib

X = opyard.tensor([1.0, 2.0, 3.0])


def composed():
    with lib.scoped_library("leaks", "FRAGMENT") as scoped:
        lib.composite("leaks::composed(Tensor x) -> Tensor", "let y = x + x; y * x", lib=scoped)
        opyard.ops.leaks.composed(X)


OPERATOR_FILE = "namespace leaked_file\noperator f(Tensor x) -> Tensor { body { x + x } }\n"


def operators_loaded():
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "leaks.ops")
        with open(path, "w") as file:
            file.write(OPERATOR_FILE)
        loaded = lib.load_operators(path)
        opyard.ops.leaked_file.f(X)
        loaded.close()
