"""opyard.save() and opyard.load(): named tensors in a safetensors file, which others read, too.

opyard.save(model.state_dict(), "model.safetensors")
model.load_state_dict(opyard.load("model.safetensors"))
"""

import os
from collections.abc import Mapping

from .. import _models
from .._C import Tensor
from .._core.keywords import names_keywords
from .._core.paths import require_path


@names_keywords
def save(state_dict: Mapping[str, object], path: str | os.PathLike[str]) -> None:
    """Writes named tensors as a file of the safetensors format.

    Values are Tensors, or arrays of other libraries. The file is replaced when all is written, so
    that a failure leaves the old one, and tensors that were loaded from it keep what they are.
    Raises TypeError for a name that is no str and a value that is no tensor, OSError as
    open() does for a file that cannot be written.
    """
    if not isinstance(state_dict, Mapping):
        kind = type(state_dict).__name__
        raise TypeError(f"save() takes a dict of names and tensors, and then a path, not {kind}")
    tensors = dict(state_dict)
    for name in tensors:
        if not isinstance(name, str):
            raise TypeError(f"save(): names of tensors must be str, not {type(name).__name__}")
    require_path("save", path)
    _models.save_tensors(os.fsencode(path), tensors)


@names_keywords
def load(path: str | os.PathLike[str], *, mapped: bool = False) -> dict[str, Tensor]:
    """The tensors of a safetensors file by name, in the order of their bytes in it.

    The file is read into one block of memory, which lives as long as a tensor of it. With `mapped`
    nothing is read until it is used, and processes share its memory; a tensor that is written gets
    memory of its own. But then the file must not be written in place as long as a tensor lives: a
    file that is made shorter ends the process with a bus error. (save() writes a new file and
    renames it, which does no harm.) Nothing in the file is run.

    Raises OSError as open() does, FileNotFoundError if there is no file, and ValueError, saying
    what is wrong, for one that is not of the format: cut, overlapping, of sizes that do not fit.
    """
    require_path("load", path)
    return _models.load_tensors(os.fsencode(path), mapped)
