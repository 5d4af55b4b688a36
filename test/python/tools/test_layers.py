"""test_layers.py: includes and imports point one way, and the linter sees those that do not.

Suspect tools/checks/. Each arrow is planted in a copy of the sources.
"""

import re
import shutil
import subprocess
import sys

import pytest
from built import ROOT

sys.path.insert(0, str(ROOT / "tools"))
from checks import sources
from checks.formats import check_comments
from checks.imports import check_package
from checks.includes import check_inner_headers, check_layers
from checks.orders import SLICES
from checks.rooms import MOST_FILES_OF_A_ROOM, check_rooms, check_tests
from checks.sources import LONGEST_FILE
from checks.upward import check_doors

pytestmark = pytest.mark.once

LAYERS = [
    "dispatcher",
    "jit",
    "models",
    "autograd",
    "profiler",
    "remote",
    "kernels",
    "pyfallback",
    "publish",
]


@pytest.fixture(scope="module")
def own_copy(tmp_path_factory):
    copy = tmp_path_factory.mktemp("copy")
    for layer in LAYERS:
        if (ROOT / layer).exists():
            shutil.copytree(
                ROOT / layer, copy / layer, ignore=shutil.ignore_patterns("__pycache__")
            )
    subprocess.run(["git", "init", "--quiet", str(copy)], check=True)
    return copy


@pytest.fixture
def copy(own_copy, monkeypatch):
    """A copy of the layers, as a repository, which the linter reads during the test."""
    monkeypatch.setattr(sources, "ROOT", own_copy)
    return own_copy


@pytest.fixture
def plant(copy):
    """Writes a text to the end of a file, or to a new one, for the length of the test."""
    former = {}

    def plant(name, text):
        path = copy / name
        before = path.read_text("utf-8") if path.exists() else None
        former.setdefault(path, before)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((before or "") + text, "utf-8")

    yield plant
    for path, text in former.items():
        if text is None:
            path.unlink()
        else:
            path.write_text(text, "utf-8")


def test_the_sources_have_no_such_arrow(copy):
    checks = (check_layers, check_rooms, check_package, check_inner_headers, check_comments)
    for check in checks:
        assert list(check()) == []


# includes ---------------------------------------------------------------------------------

UPWARD = [
    # private headers of the core, by their path
    ("dispatcher/src/keys/dispatch_key.cpp", "registry/operator_entry.h"),
    ("dispatcher/src/schema/parse.cpp", "registry/operator_entry.h"),
    ("dispatcher/include/opyard/tensor/tensor.h", "opyard/registry/registry.h"),
    ("dispatcher/src/value/value.cpp", "opyard/c_api.h"),
    # layers
    ("dispatcher/src/registry/registry.cpp", "kernels/src/common/check.h"),
    ("kernels/src/common/check.cpp", "pyfallback/runtime/gil.h"),
    # the ideas of the other layers
    ("jit/src/ir/node.cpp", "text/value_names.h"),
    ("models/src/files/json.cpp", "exported/zip.h"),
    ("models/src/exported/program.cpp", "model/model_file.h"),
    ("profiler/src/capture/session.cpp", "files/journal_reader.h"),
    ("profiler/src/profile/replay.cpp", "exports/report_bars.h"),
    ("kernels/loops/unary.cpp", "kernels/src/common/check.h"),
    ("kernels/src/common/check.cpp", "pointwise/elementwise.h"),
    # the rooms of the Python plugin
    ("pyfallback/runtime/gil.cpp", "objects/values/dtype.h"),
    ("pyfallback/runtime/drop_list.cpp", "objects/tensor/tensor.h"),
    ("pyfallback/objects/values/dtype.cpp", "objects/arrays/foreign_array.h"),
    ("pyfallback/objects/arrays/foreign_array.cpp", "objects/tensor/tensor.h"),
    ("pyfallback/objects/tensor/tensor_dlpack.cpp", "objects/convert/convert.h"),
    ("pyfallback/objects/convert/convert.cpp", "operators/overload.h"),
    ("pyfallback/operators/direct_call.cpp", "kernels/python_kernel.h"),
    ("pyfallback/kernels/handlers.cpp", "registering/library.h"),
    ("pyfallback/registering/library.cpp", "vtable/vtable.h"),
    ("pyfallback/vtable/vtable.cpp", "bind/schema.h"),
    # what layers have of Python
    ("pyfallback/vtable/vtable.cpp", "opyard/detail/graphs/shared.h"),
    ("jit/src/ir/node.cpp", "opyard/python.h"),
    ("pyfallback/vtable/vtable.cpp", "profiler/python/tracer/tracer.h"),
]


def test_an_include_that_points_upward_is_refused(copy, plant):
    for file, header in UPWARD:
        assert (copy / file).exists(), f"a plant needs a file: name another one than {file}"
        plant(file, f'\n#include "{header}"')
    faults = list(check_layers())
    for file, header in UPWARD:
        assert f'{file}: includes "{header}", which is above it' in faults


def test_what_a_layer_keeps_to_itself_is_not_included_by_another(copy, plant):
    files = ["kernels/src/common/check.cpp", "pyfallback/operators/overload.cpp"]
    ways = ["registry/operator_entry.h", "dispatcher/src/registry/operator_entry.h"]
    for file in files:
        plant(file, "".join(f'\n#include "{way}"' for way in ways))
    faults = list(check_layers())
    for file in files:
        for way in ways:
            assert f'{file}: includes "{way}", which dispatcher/ keeps to itself' in faults


def test_a_profile_needs_the_dispatcher_only(copy, plant):
    plant("jit/include/opyard/jit/planted.h", "\n")
    plant("profiler/src/planted.cpp", "#include <opyard/jit/planted.h>\n")
    assert (
        "profiler/src/planted.cpp: includes <opyard/jit/planted.h>, which its layer does without"
        in check_layers()
    )


def test_a_slice_sees_of_the_plugin_what_is_public(copy, plant):
    ways = ["runtime/gil.h", "pyfallback/runtime/gil.h", "operators/overload.h"]
    for slice_ in SLICES:
        plant(f"{slice_}/planted.cpp", "".join(f'#include "{way}"\n' for way in ways))
    faults = list(check_layers())
    for slice_ in SLICES:
        for way in ways:
            fault = f'{slice_}/planted.cpp: includes "{way}", which pyfallback/ keeps to itself'
            assert fault in faults


def test_the_plugin_sees_nothing_that_a_layer_keeps_to_itself(copy, plant):
    plant("pyfallback/vtable/planted.cpp", '#include "jit/src/code/code_data.h"\n')
    plant("pyfallback/opyard/_library/planted.py", "from ..autograd import grad\n")
    plant("pyfallback/opyard/planted.py", "def late():\n    from . import _graphs\n")
    assert (
        'pyfallback/vtable/planted.cpp: includes "jit/src/code/code_data.h", which jit/ keeps to '
        "itself" in check_layers()
    )
    faults = [fault for fault in check_package() if "a layer's; ask by name" in fault]
    assert [fault.partition(":")[0] for fault in faults] == [
        "pyfallback/opyard/_library/planted.py",
        "pyfallback/opyard/planted.py",
    ]


def test_only_what_is_for_python_knows_it(copy, plant):
    plant("dispatcher/src/keys/planted.cpp", "#include <Python.h>\n")
    plant("jit/src/planted.cpp", '#include "Python.h"\n')
    plant("kernels/src/planted.cpp", '#include "pybind11/pybind11.h"\n')
    plant("models/src/planted.cpp", "#include <python3.11/Python.h>\n")
    plant("profiler/python/planted.cpp", "#include <Python.h>\n")
    faults = [fault for fault in check_layers() if "<layer>/python/ do" in fault]
    assert [fault.partition(":")[0] for fault in faults] == [
        "dispatcher/src/keys/planted.cpp",
        "jit/src/planted.cpp",
        "kernels/src/planted.cpp",
        "models/src/planted.cpp",
    ]


def test_a_program_sees_nothing_that_a_layer_keeps_to_itself(copy, plant):
    plant("programs/planted.cpp", '#include "exported/zip.h"\n#include "run_arguments.h"\n')
    fault = 'programs/planted.cpp: includes "exported/zip.h", which models/ keeps to itself'
    assert [one for one in check_layers() if "planted" in one] == [fault]


def test_files_in_a_circle_are_refused(copy, plant):
    plant("pyfallback/operators/planted_a.h", '#include "operators/planted_b.h"\n')
    plant("pyfallback/operators/planted_b.h", '#include "planted_a.h"\n')
    (fault,) = check_layers()
    assert "files include each other in a circle" in fault
    assert "planted_a.h -> pyfallback/operators/planted_b.h" in fault


def test_folders_in_a_circle_are_refused_also_without_an_order(copy, plant):
    plant("autograd/src/one/planted.h", '#include "two/planted_more.h"\n')
    plant("autograd/src/two/planted.h", '#include "one/planted_more.h"\n')
    plant("autograd/src/one/planted_more.h", "\n")
    plant("autograd/src/two/planted_more.h", "\n")
    (fault,) = check_layers()
    way = "autograd/one -> autograd/two -> autograd/one"
    assert f"folders include each other in a circle: {way}" in fault


def test_a_room_that_is_too_full_or_not_in_the_order_is_refused(copy, plant):
    plant("pyfallback/elsewhere/planted.cpp", "\n")
    plant("jit/src/elsewhere/planted.cpp", "\n")
    for number in range(MOST_FILES_OF_A_ROOM):
        plant(f"jit/src/code/planted_{number}.cpp", "\n")
        plant(f"pyfallback/vtable/planted_{number}.cpp", "\n")
    faults = list(check_rooms())
    assert len(faults) == 4
    assert "jit/src/elsewhere/planted.cpp: is of no idea" in faults[0]
    assert "pyfallback/elsewhere/planted.cpp: is in no room" in faults[1]
    assert re.match(r"jit/src/code: \d+ files", faults[2])
    assert re.match(r"pyfallback/vtable: \d+ files", faults[3])


def test_rooms_of_tests_are_not_too_full(copy, plant):
    for number in range(MOST_FILES_OF_A_ROOM):
        plant(f"test/python/planted/test_{number}.py", "\n")
        plant(f"test/cpp/planted/test_{number}.cpp", "\n")
        plant(f"test/fuzz/planted_{number}.cpp", "\n")
        plant(f"test/fuzz/corpus/schema/{number}", "\n")
    assert [fault for fault in check_rooms() if fault.startswith("test/")] == []
    plant("test/python/planted/picture.txt", "\n")
    plant("test/cpp/planted/helper.h", "\n")
    plant("test/fuzz/planted.h", "\n")
    plant("test/fuzz/corpus/schema/more", "\n")
    assert [fault for fault in check_rooms() if fault.startswith("test/")] == [
        "test/cpp/planted: 36 files; 35 are enough for a folder",
        "test/fuzz: 36 files; 35 are enough for a folder",
        "test/python/planted: 36 files; 35 are enough for a folder",
    ]


def test_python_tests_are_short_and_in_rooms_with_heads_and_names_of_their_own(copy, plant):
    plant("test/python/conftest.py", "\n")
    plant("test/python/planted/conftest.py", "\n")
    head = '"""Suspect the linter."""\n'
    plant("test/python/planted/test_planted.py", head)
    plant("test/python/planted/helper.py", "\n" * LONGEST_FILE)
    assert list(check_tests()) == []
    plant("test/python/planted/helper.py", "\n")
    plant("test/python/other/test_planted.py", "# Suspect no one.\n")
    plant("test/python/test_outside.py", head)
    assert list(check_tests()) == [
        "test/python/planted/helper.py: 601 lines, of 600; split it by subject",
        "test/python/other/test_planted.py: its head does not say whom to suspect if it fails",
        "test/python/planted/test_planted.py: test/python/other/test_planted.py has this name, "
        "too; modules of tests are found by it alone",
        "test/python/test_outside.py: a test is in a room, test/python/<room>/",
    ]


def test_cpp_tests_are_short_also_if_they_say_that_they_are_one_piece(copy, plant):
    head = "// Suspect the linter. The file is one piece.\n"
    plant("test/cpp/planted/test_planted.cpp", head + "\n" * (LONGEST_FILE - 1))
    plant("test/cpp/planted/helper.h", "\n" * LONGEST_FILE)
    assert list(check_tests()) == []
    plant("test/cpp/planted/test_planted.cpp", "\n")
    plant("test/cpp/planted/helper.h", "\n")
    assert list(check_tests()) == [
        "test/cpp/planted/helper.h: 601 lines, of 600; split it by subject",
        "test/cpp/planted/test_planted.cpp: 601 lines, of 600; split it by subject",
    ]


def test_cpp_tests_have_namespaces_of_their_own(copy, plant):
    head = "// Suspect the linter.\n"
    good = "namespace opyard::test_good {\nTEST(A, B) {}\n}\n"
    plant("test/cpp/planted/test_good.cpp", head + good)
    plant("test/cpp/planted/test_helper.cpp", head + "namespace {\nint number;\n}\n")
    assert list(check_tests()) == []
    for word in ("TEST", "TEST_F", "TEST_P"):
        plant("test/cpp/planted/test_bad.cpp", f"{head}namespace {{\n{word}(A, B) {{}}\n}}\n")
        (fault,) = check_tests()
        assert "test_bad.cpp: its tests are in no namespace opyard::test_bad;" in fault


def test_heads_of_cpp_tests_say_whom_to_suspect(copy, plant):
    body = "#include <vector>\n// Suspect the linter.\n"
    plant(
        "test/cpp/planted/test_told.cpp", "// test_told.cpp: a test.\n//\n// Suspect me.\n" + body
    )
    plant("test/cpp/planted/test_untold.cpp", "// test_untold.cpp: a test.\n" + body)
    plant("test/cpp/planted/helper.cpp", body)
    assert list(check_tests()) == [
        "test/cpp/planted/test_untold.cpp: its head does not say whom to suspect if it fails",
    ]


def test_what_users_read_includes_no_inner_header(copy, plant):
    planted = ["README.md", "docs/guides/kernels.md", "examples/vision/planted.cpp"]
    planted += ["kernels/src/common/check.cpp", "kernels/src/planted.h"]
    for name in planted:
        plant(name, "\n    #include <opyard/detail/registry/record.h>\n")
    plant("dispatcher/src/keys/planted.cpp", "#include <opyard/detail/registry/record.h>\n")
    faults = list(check_inner_headers())
    assert sorted(fault.partition(": ")[0] for fault in faults) == sorted(planted)
    assert "includes <opyard/detail/registry/record.h>, which is an inner header" in faults[0]


def test_comments_keep_to_the_columns_of_the_code(copy, plant):
    prose = "// " + "word " * 20
    fits = "// " + "x" * 97
    table = "//   " + "left   right " * 10
    link = "// https://example.org/" + "x" * 100
    plant("dispatcher/src/keys/planted.cpp", f"{prose}\n{fits}\n  {prose}\n{table}\n{link}\n")
    plant("kernels/src/planted.h", f"// the first line\n{fits}x\n")
    plant("kernels/src/planted.cpp", f'\nconst char* text = "{"x" * 100}";\n')
    assert [fault.partition(": ")[0] for fault in check_comments()] == [
        "dispatcher/src/keys/planted.cpp:3",
        "kernels/src/planted.h:2",
    ]


def test_a_door_upward_that_is_not_in_the_list_is_refused(copy, plant):
    (copy / "docs/concepts").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "docs/concepts/layers.md", copy / "docs/concepts")
    assert list(check_doors()) == []
    plant(
        "dispatcher/include/opyard/tensor/planted.h",
        "struct PlantedFunctions {\n  void (*call)(int number);\n};\n"
        "using PlantedListener = void (*)(bool begins) noexcept;\n"
        "struct PlantedRow {\n  PlantedListener begin = nullptr;\n  PlantedListener end;\n};\n",
    )
    plant("pyfallback/vtable/planted.cpp", 'auto* f = require_hook(runtime, "planted");\n')
    plant("pyfallback/opyard/_library/planted.py", 'hooks["other"]()\n')
    plant("dispatcher/include/opyard/detail/doors.def", 'OPYARD_HOOK(new, "a", "b", "", "c")\n')
    faults = sorted(check_doors())
    words = [fault.partition(": ")[2].partition(" ")[0] for fault in faults if "planted" in fault]
    assert words == ["PlantedFunctions", "PlantedListener", "PlantedRow", "asks", "asks"]
    assert [fault for fault in faults if "docs/concepts/layers.md: is not what" in fault]


def test_cpp_that_imports_a_module_of_the_package_by_itself_is_refused(copy, plant):
    (copy / "docs/concepts").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "docs/concepts/layers.md", copy / "docs/concepts")
    plant("jit/python/graphs/planted.cpp", 'py::module_::import("opyard._jit.reads");\n')
    plant("models/python/files/planted.cpp", 'py::module_::import("opyard._graphs");\n')
    plant("pyfallback/vtable/planted.cpp", 'PyImport_ImportModule("opyard.library");\n')
    faults = [fault.partition(", which is above it")[0] for fault in check_doors()]
    assert faults == [
        "jit/python/graphs/planted.cpp: imports opyard._jit.reads",
        "pyfallback/vtable/planted.cpp: imports opyard.library",
    ]


def test_a_function_that_is_handed_down_alone_is_a_door(copy, plant):
    (copy / "docs/concepts").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "docs/concepts/layers.md", copy / "docs/concepts")
    plant(
        "autograd/include/opyard/autograd/planted.h",
        "using PlantedCall = int (*)(int number);\n"
        "OPYARD_API void set_planted_site(std::string (*site)()) noexcept;\n"
        "OPYARD_API PlantedCall set_planted_call(\n    PlantedCall call) noexcept;\n"
        "extern OPYARD_API constinit std::atomic<PlantedCall> planted_call;\n"
        "void set_planted_number(int number);\n"
        "OPYARD_API void hear_of_planted(void (*function)() noexcept) noexcept;\n"
        "PlantedCall replace_planted(PlantedCall call);\n"
        "OPYARD_API void tell_planted(\n    std::function<void(int, int)> told);\n"
        "int ask_planted(PlantedCall call);\n"
        "void run_planted(PlantedCall call, int times);\n"
        "struct Planted {\n  void each(PlantedCall call);\n};\n"
        "template <typename Call>\nvoid all_planted(Call call);\n",
    )
    plant("jit/src/ir/planted.h", "void set_planted_check(opyard::PlantedCall check = nullptr);\n")
    faults = [fault.partition(" is a door upward")[0] for fault in check_doors()]
    assert faults == [
        "autograd/include/opyard/autograd/planted.h: hear_of_planted",
        "autograd/include/opyard/autograd/planted.h: replace_planted",
        "autograd/include/opyard/autograd/planted.h: tell_planted",
        "autograd/include/opyard/autograd/planted.h: set_planted_site",
        "autograd/include/opyard/autograd/planted.h: set_planted_call",
        "autograd/include/opyard/autograd/planted.h: planted_call",
        "jit/src/ir/planted.h: set_planted_check",
    ]


def test_an_interface_that_a_higher_floor_defines_is_a_door(copy, plant):
    (copy / "docs/concepts").mkdir(parents=True, exist_ok=True)
    shutil.copy(ROOT / "docs/concepts/layers.md", copy / "docs/concepts")
    plant(
        "profiler/include/opyard/profiler/planted.h",
        "class Told {\n  virtual void begin(int number) noexcept = 0;\n};\n"
        "struct Asked {\n  std::function<void()> ask;\n};\n"
        "class Plain {\n  virtual void begin(int number);\n};\n",
    )
    faults = [fault.partition(": ")[2] for fault in check_doors() if "planted.h" in fault]
    assert [fault.partition(" ")[0] for fault in faults] == ["Told", "Asked"]


# imports ----------------------------------------------------------------------------------

BELOW, ABOVE = "pyfallback/opyard/_core/planted.py", "pyfallback/opyard/_library/planted.py"
IMPORTS = [
    "from opyard._library import planted\n",
    "from .._library import planted\n",
    "from .._library.planted import name\n",
    "import opyard._library.planted\n",
    "def late():\n    from .._library.planted import name\n    return name\n",
    "TABLE = {'name': 'opyard._library.planted'}\n",
    "from opyard import library\n",
]


@pytest.mark.parametrize("text", IMPORTS)
def test_an_import_that_points_upward_is_refused_also_a_late_one(copy, plant, text):
    plant(ABOVE, "name = 1\n")
    plant(BELOW, text)
    faults = list(check_package())
    assert [fault for fault in faults if fault.startswith(BELOW) and "above it" in fault], faults


SIDEWAYS = [
    ("autograd/python/opyard/planted.py", "from ._jit import reads\n"),
    ("autograd/python/opyard/planted_late.py", "def late():\n    from . import jit\n"),
    ("profiler/python/opyard/planted.py", "from ._nn.module import Module\n"),
    ("profiler/python/opyard/planted_more.py", "from . import _graphs\n"),
]


def test_an_import_of_what_a_slice_does_without_is_refused(copy, plant):
    for file, text in SIDEWAYS:
        plant(file, text)
    plant("jit/python/opyard/planted.py", "from ._nn.module import Module\n")
    plant("autograd/python/opyard/planted_extension.py", "from . import _graphs\n")
    faults = [fault for fault in check_package() if "does without" in fault]
    assert [fault.partition(":")[0] for fault in faults] == [file for file, _ in SIDEWAYS]


def test_modules_of_a_room_in_a_circle_are_refused_also_by_late_imports(copy, plant):
    plant("pyfallback/opyard/_core/planted_a.py", "from .planted_b import name\n")
    plant(
        "pyfallback/opyard/_core/planted_b.py",
        "name = 1\ndef late():\n    from . import planted_a\n    return planted_a\n",
    )
    (fault,) = check_package()
    assert "modules import each other in a circle: " in fault
    assert "_core/planted_a.py -> pyfallback/opyard/_core/planted_b.py -> " in fault


def test_imports_downward_and_for_types_alone_are_none_of_its_business(copy, plant):
    plant(BELOW, "name = 1\n")
    plant(
        ABOVE,
        "from typing import TYPE_CHECKING\n"
        "from .._core.planted import name\n"
        "if TYPE_CHECKING:\n    from ..library import Library\n",
    )
    assert list(check_package()) == []
