"""The model of examples/exported, as PyTorch exported it, and archives that are made of it."""

import struct
import zipfile

from built import ROOT

MODEL = ROOT / "examples/exported/model.pt2"
PROGRAM = "model/models/model.json"


def archive(tmp_path, changes=(), *, compression=zipfile.ZIP_STORED, extra=()):
    """The model again; `changes` are entries' new contents, or None to leave one out."""
    path = tmp_path / "changed.pt2"
    changes = dict(changes)
    with zipfile.ZipFile(MODEL) as old, zipfile.ZipFile(path, "w", compression) as new:
        for name in old.namelist():
            contents = changes.get(name, old.read(name))
            if contents is not None:
                info = zipfile.ZipInfo(name)
                info.compress_type = compression
                here = new.fp.tell() + 30 + len(name)
                info.extra = struct.pack("<HH", 0xFFFF, -(here + 4) % 64) + b"\0" * (
                    -(here + 4) % 64
                )
                new.writestr(info, contents)
        for name in extra:
            new.writestr(name, b"")
    return path
