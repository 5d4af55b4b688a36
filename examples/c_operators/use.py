"""use.py: operators that were written in C, used from Python.

python use.py --library build/libc_operators.so
"""

import argparse
import array

import opyard


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True, help="the library that c_operators.c became")
    path = parser.parse_args().library
    opyard.load_library(path)
    cops = opyard.ops.cops

    print("clamp", cops.clamp(3.0), cops.clamp(3.0, high=2.0))
    print("hypot", cops.hypot(3.0, 4.0))
    x = cops.ramp(4)
    y = opyard.from_numpy(array.array("d", [1.0, 1.0, 2.0, 2.0]))
    print("dot", cops.dot(x, y), "norm", round(cops.norm(y), 3))
    print("the layer counted", cops.calls(), "calls of dot")
    try:
        cops.dot(x, cops.ramp(3))
    except ValueError as error:
        print("refused:", str(error).splitlines()[0])

    # A kernel in Python, called by `norm`, which is C; its exception comes out as itself.
    with opyard.library.override("cops::dot", "CPU", lambda x, y: 1 / 0):
        try:
            cops.norm(x)
        except ZeroDivisionError as error:
            print("the exception of a kernel in Python:", error)

    opyard.unload_library(path)
    print("unloaded:", hasattr(cops, "dot"))


if __name__ == "__main__":
    main()
