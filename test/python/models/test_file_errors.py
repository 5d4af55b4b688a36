"""test_file_errors.py: a file that cannot be opened, read or written raises what open() raises.

Every function that takes the name of a file, with one that is missing, a folder and one that may
not be opened: the class, errno and filename. And files of other formats, which are named. Suspect
dispatcher/src/base/file_error.cpp, models/src/files/{file_bytes,foreign}.cpp.
"""

import errno
import gzip
import io
import os
import pickle
import zipfile

import pytest
from exported_model import MODEL
from processes import run

import opyard
from opyard import jit, profiler

ONE = {"x": opyard.tensor([1.0])}


def define_and_impl_c(path):
    with opyard.library.Library("file_errors", "DEF") as library:
        library.define("f(Tensor x) -> Tensor")
        library.impl_c("f", path, "some_function")


def exported(path):
    with profiler.profile() as profile:
        pass
    profile.export(path, "chrome")


READERS = {
    "load": opyard.load,
    "load mapped": lambda path: opyard.load(path, mapped=True),
    "jit.load": jit.load,
    "load_library": opyard.load_library,
    "diff": lambda path: profiler_times(path),
}
WRITERS = {
    "save": lambda path: opyard.save(ONE, path),
    "jit.save": lambda path: jit.save(jit.parse_ir("graph(%x):\n  return (%x)"), path),
    "export": exported,
}


def profiler_times(path):
    from opyard._profile.compare import read_times

    return read_times(os.fspath(path))


def check(function, path, number):
    with pytest.raises(OSError) as caught:
        function(path)
    error = caught.value
    assert type(error) is type(OSError(number, "")), error
    assert (error.errno, error.filename) == (number, str(path))
    assert error.strerror == os.strerror(number)


@pytest.mark.parametrize("name", READERS)
def test_what_cannot_be_read(name, tmp_path):
    check(READERS[name], tmp_path / "missing", errno.ENOENT)
    check(READERS[name], tmp_path / "grün" / "missing", errno.ENOENT)
    check(READERS[name], tmp_path, errno.EISDIR)
    (tmp_path / "file").write_bytes(b"")
    check(READERS[name], tmp_path / "file" / "inside", errno.ENOTDIR)


@pytest.mark.parametrize("name", WRITERS)
def test_what_cannot_be_written(name, tmp_path):
    check(WRITERS[name], tmp_path / "missing" / "file", errno.ENOENT)
    check(WRITERS[name], tmp_path, errno.EISDIR)
    assert not list(tmp_path.iterdir())


def test_captures_that_cannot_be_read(tmp_path):
    from opyard import _tracer

    check(lambda path: _tracer.recover(os.fspath(path)), tmp_path / "missing", errno.ENOENT)


def test_a_library_of_c_functions_that_is_missing_names_the_operator(tmp_path):
    path = tmp_path / "missing.so"
    with pytest.raises(FileNotFoundError) as caught:
        define_and_impl_c(path)
    assert caught.value.filename == str(path)
    assert caught.value.__notes__[0].startswith("file_errors::f: cannot load ")


def test_what_may_not_be_opened_is_a_permission_error(tmp_path):
    done = run(
        f"""
        import os
        import opyard
        from opyard import jit
        folder = {str(tmp_path)!r}
        path = os.path.join(folder, "mine")
        opyard.save({{"x": opyard.tensor([1.0])}}, path)
        for function in (opyard.load_library, jit.load):  # all that they need is loaded
            try:
                function(folder)
            except OSError:
                pass
        os.chmod(path, 0)
        os.chmod(folder, 0o555)
        if os.geteuid() == 0:
            os.seteuid(65534)
        for function, wanted in (
            (opyard.load, path),
            (jit.load, path),
            (opyard.load_library, path),
            (lambda path: opyard.save({{}}, path), os.path.join(folder, "other")),
        ):
            try:
                function(wanted)
            except PermissionError as error:
                assert error.filename == wanted, error.filename
            else:
                raise AssertionError(function)
        if os.getuid() == 0:
            os.seteuid(0)
        os.chmod(folder, 0o755)
        """
    )
    assert done.code == 0, done.stderr


def zipped(*names):
    held = io.BytesIO()
    with zipfile.ZipFile(held, "w") as archive:
        for name in names:
            archive.writestr(name, b"")
    return held.getvalue()


FOREIGN = {
    "torch.save()": zipped("archive/data.pkl", "archive/version"),
    "torch.jit.save()": zipped("net/data.pkl", "net/code/__torch__.py", "net/constants.pkl"),
    "before 2.7": zipped("serialized_exported_program.json"),
    "arrays": zipped("a.npy"),
    "zip archive": zipped("anything"),
    "a pickle": pickle.dumps([1] * 20, 4),
    "array of NumPy": b"\x93NUMPY\x01\x00" + bytes(100),
    "gzip": gzip.compress(b"x" * 100),
    "HDF5": b"\x89HDF\r\n\x1a\n" + bytes(100),
    "GGUF": b"GGUF\x03\x00\x00\x00" + bytes(100),
}


@pytest.mark.parametrize("name", FOREIGN)
def test_files_of_other_formats_are_named(name, tmp_path):
    path = tmp_path / "file"
    path.write_bytes(FOREIGN[name])
    for function in (opyard.load, jit.load):
        with pytest.raises((ValueError, NotImplementedError), match="but .*" + name[:-2]):
            function(path)


def test_an_exported_program_is_named_by_the_function_that_reads_it():
    with pytest.raises(
        ValueError, match=r"torch\.export\.save\(\), a model; opyard\.jit\.load\(\)"
    ):
        opyard.load(MODEL)


def test_a_header_that_begins_as_another_format_is_read(tmp_path):
    """A header of 640 bytes has the first two bytes of a pickle."""
    path = tmp_path / "file"
    opyard.save(ONE, path)
    whole = path.read_bytes()
    length = int.from_bytes(whole[:8], "little")
    header = whole[8 : 8 + length].ljust(640)
    path.write_bytes((640).to_bytes(8, "little") + header + whole[8 + length :])
    assert opyard.load(path)["x"].tolist() == [1.0]
