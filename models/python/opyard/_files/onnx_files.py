"""Detection of ONNX files, which opyard.jit.load() has read by another reader."""

import os


def looks_like_onnx(path: "str | os.PathLike[str] | bytes") -> bool:
    """Whether a file ends in .onnx, or begins as a model of a version that there is."""
    if os.fsencode(path).lower().endswith(b".onnx"):
        return True
    try:
        with open(path, "rb") as file:
            head = file.read(3)
    except (OSError, ValueError):  # as of a name with a zero byte; who reads it says so
        return False
    # ir_version, then another small field; archives, pickles and safetensors begin otherwise.
    return len(head) == 3 and head[0] == 8 and 3 <= head[1] <= 20 and head[2] in (0x12, 0x3A, 0x42)
