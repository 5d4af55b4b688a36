"""Protects the installed wheel: one folder that holds everything and needs nothing else."""

import configparser
import importlib.util
import json
import re
import shutil
import sys
from pathlib import Path

import pytest
from conftest import run

ROOT = Path(__file__).resolve().parents[2]
PROJECT = Path(__file__).parent / "project"
VERSION = re.search(r"version: '([^']+)'", (ROOT / "meson.build").read_text())[1]
COMPILE = ["c++", "-std=c++20", "-Wall", "-Wextra", "-Werror"]

# What a wheel may ask of the system that loads it.
SYSTEM_LIBRARIES = {
    "ld-linux-x86-64.so.2",
    "libc.so.6",
    "libgcc_s.so.1",
    "libm.so.6",
    "libstdc++.so.6",
}


def dynamic(file, tag, folder):
    return re.findall(rf"\({tag}\).*\[(.*)\]", run("readelf", "-d", file, cwd=folder))


def test_the_package_imports_from_any_folder(wheel_python, package, tmp_path):
    printed = run(wheel_python, "-c", "import opyard; print(opyard.__file__)", cwd=tmp_path)
    assert Path(printed.strip()).parent == package
    assert ROOT / "build/main" not in package.parents


def test_the_version_is_the_same_everywhere(wheel_python, build_info, tmp_path):
    program = (
        "import importlib.metadata as m, opyard; print(m.version('opyard'), opyard.__version__)"
    )
    assert run(wheel_python, "-c", program, cwd=tmp_path).split() == [VERSION, VERSION]
    assert build_info["version"] == VERSION
    assert build_info["layout"] == "wheel"


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="the names of Linux")
def test_the_wheel_says_which_systems_it_runs_on(package):
    (said,) = package.parent.glob("opyard-*.dist-info/WHEEL")
    tags = [line for line in said.read_text().splitlines() if line.startswith("Tag:")]
    assert tags
    assert all("-manylinux_" in tag or "-musllinux_" in tag for tag in tags)
    # A function that a newer glibc or libstdc++ has anew keeps the wheel off older systems: hypot
    # (kernels/src/pointwise/binary.cpp), condition_variable::wait without a time.
    glibcs = [int(minor) for tag in tags for minor in re.findall(r"-manylinux_2_(\d+)_", tag)]
    assert all(minor <= 34 for minor in glibcs)


# One for each layer, and the way in for hosts.
LIBRARIES = [
    "libopyard.so",
    "libopyard_autograd.so",
    "libopyard_embed.so",
    "libopyard_jit.so",
    "libopyard_models.so",
    "libopyard_profiler.so",
    "libopyard_remote.so",
    "libopyard_xla.so",
]


def test_each_layer_is_one_library_under_one_name(package):
    assert sorted(path.name for path in package.parent.rglob("libopyard*.so*")) == LIBRARIES


def test_library_and_kernels_lie_where_the_package_says(build_info, package):
    assert Path(build_info["library"]).is_file()
    assert Path(build_info["kernels"]).is_file()
    assert Path(build_info["pkgconfig_dir"]).parent == package


def test_shared_libraries_find_each_other_and_need_only_the_system(package, tmp_path):
    files = sorted(package.glob("*.so"))
    assert files
    for file in files:
        assert set(dynamic(file, "RUNPATH", tmp_path)) <= {"$ORIGIN"}, file
        needed = set(dynamic(file, "NEEDED", tmp_path)) - set(LIBRARIES)
        assert needed <= SYSTEM_LIBRARIES, f"{file} needs {needed - SYSTEM_LIBRARIES}"


def test_nothing_in_it_names_the_folder_it_was_built_in(package):
    here = str(ROOT / "build/wheel").encode()
    assert [
        file for file in package.rglob("*") if file.is_file() and here in file.read_bytes()
    ] == []


OF_EXTENSIONS = ("opyard/detail/bind/", "opyard/detail/python/")


def test_every_public_header_compiles_from_the_package(wheel_python, package, tmp_path):
    include = package / "include"
    asked = "import sysconfig; print(sysconfig.get_path('include'))"
    python = run(wheel_python, "-c", asked, cwd=tmp_path).strip()
    headers = sorted(str(path.relative_to(include)) for path in include.rglob("*.h"))
    in_tree = {
        str(path).split("/include/")[1] for path in ROOT.glob("*/include/**/*.h") if path.is_file()
    } | {"opyard/aten.h"}  # which is made when it is built
    # What the extension modules of the package itself share of the plugin stays here.
    ours = {header for header in in_tree if header.startswith(OF_EXTENSIONS)}
    assert len(ours) > 10 and headers == sorted(in_tree - ours)
    # What extension modules include has Python.h, which comes before all else.
    first = ["opyard/python.h", "opyard/pybind11.h"]
    headers.sort(key=lambda header: first.index(header) if header in first else len(first))
    found = []
    if importlib.util.find_spec("pybind11") is None:
        headers.remove("opyard/pybind11.h")
    else:
        found = ["-isystem", importlib.import_module("pybind11").get_include()]
    source = tmp_path / "all.cpp"
    source.write_text("".join(f"#include <{header}>\n" for header in headers))
    run(*COMPILE, "-fsyntax-only", f"-I{include}", f"-I{python}", *found, source, cwd=tmp_path)


def test_the_pc_file_moves_with_the_package(package, tmp_path):
    moved = tmp_path / "elsewhere" / "opyard"
    shutil.copytree(package, moved, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    flags = run(
        "pkg-config",
        "--cflags",
        "--libs",
        "opyard",
        cwd=tmp_path,
        PKG_CONFIG_PATH=moved / "pkgconfig",
    )
    places = [Path(flag[2:]).resolve() for flag in flags.split() if flag[:2] in ("-I", "-L")]
    assert places == [moved / "include", moved]


PRINTED = f"{VERSION}: 1.5 2.5"
TRAINED = "gradient 0.5, calls seen"


def check_programs(built, folder, **environment):
    """Those of the project run with its library of operators."""
    library = built / "liboperators.so"
    for program, printed in (("consumer", PRINTED), ("train", TRAINED)):
        assert run(built / program, library, cwd=folder, **environment).strip() == printed


def test_a_library_of_operators_finds_it_through_pkg_config(build_info, package, tmp_path):
    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    flags = run("pkg-config", "--cflags", "--libs", "opyard", cwd=tmp_path, **found).split()
    shared = ["-shared", "-fPIC", "-o", "liboperators.so"]
    run(*COMPILE, PROJECT / "operators.cpp", *shared, *flags, cwd=tmp_path)
    run(*COMPILE, PROJECT / "consumer.cpp", "-o", "consumer", *flags, cwd=tmp_path)
    names = ["opyard_autograd", "opyard_profiler"]
    flags = run("pkg-config", "--cflags", "--libs", *names, cwd=tmp_path, **found).split()
    run(*COMPILE, PROJECT / "train.cpp", "-o", "train", *flags, cwd=tmp_path)
    check_programs(tmp_path, tmp_path, LD_LIBRARY_PATH=package)


def test_opyard_config_links_libraries_with_a_run_path(wheel_python, tmp_path):
    config = wheel_python.parent / "opyard-config"
    flags = run(config, "--cflags", cwd=tmp_path).split()
    for name, program, names in (
        ("operators", "liboperators.so", []),
        ("consumer", "consumer", ["opyard"]),
        ("train", "train", ["autograd", "profiler"]),
    ):
        shared = ["-shared", "-fPIC"] if program.endswith(".so") else []
        libs = run(config, "--libs", *names, cwd=tmp_path).split()
        source = PROJECT / f"{name}.cpp"
        run(*COMPILE, *shared, source, "-o", program, *flags, *libs, cwd=tmp_path)
    check_programs(tmp_path, tmp_path)


def test_a_meson_project_finds_it(build_info, tmp_path):
    found = {"PKG_CONFIG_PATH": build_info["pkgconfig_dir"]}
    built = tmp_path / "built"
    run(*meson(), "setup", built, PROJECT, cwd=tmp_path, **found)
    run(*meson(), "compile", "-C", built, cwd=tmp_path)
    check_programs(built, tmp_path)


@pytest.fixture(scope="module")
def subproject(tmp_path_factory):
    """The project with Opyard as a subproject, configured: without the kernels, and whole, since
    it is built from nothing here."""
    folder = tmp_path_factory.mktemp("subproject")
    shutil.copytree(PROJECT, folder / "project")
    (folder / "project/subprojects").mkdir()
    (folder / "project/subprojects/opyard").symlink_to(ROOT)
    options = ["-Dopyard:kernels=false", "-Dunity=on", "-Dunity_size=25", "-Dbuildtype=plain"]
    choices = ["--wrap-mode=nodownload", "--force-fallback-for=opyard"]
    printed = run(*meson(), "setup", "built", "project", *choices, *options, cwd=folder)
    assert f"Dependency opyard for host machine found: YES {VERSION} (overridden)" in printed
    return folder / "built"


def test_a_subproject_has_neither_tests_nor_python(subproject, tmp_path):
    targets = json.loads(run(*meson(), "introspect", "--targets", subproject, cwd=tmp_path))
    of_ours = {target["name"] for target in targets if target["subproject"] == "opyard"}
    assert "opyard_autograd" in of_ours
    assert not [name for name in of_ours if name.startswith(("test", "bench", "_C", "_bind"))]
    assert json.loads(run(*meson(), "introspect", "--tests", subproject, cwd=tmp_path)) == []


@pytest.mark.parametrize("program", ["consumer", "train"])
def test_a_meson_project_takes_it_as_a_subproject(subproject, program, tmp_path):
    run(*meson(), "compile", "-C", subproject, program, "operators", cwd=tmp_path)
    printed = run(subproject / program, subproject / "liboperators.so", cwd=tmp_path).strip()
    assert printed == {"consumer": PRINTED, "train": TRAINED}[program]


def test_a_subproject_takes_pybind11_from_its_wrap(tmp_path):
    """For a CPython that has none. What the wrap would download is there: nothing is, in tests."""
    pybind11 = pytest.importorskip("pybind11", reason="pybind11 is not installed")
    run(sys.executable, "-m", "venv", "--without-pip", tmp_path / "venv", cwd=tmp_path)
    shutil.copytree(PROJECT, tmp_path / "project")
    (tmp_path / "project/subprojects").mkdir()
    (tmp_path / "project/subprojects/opyard").symlink_to(ROOT)
    said = configparser.ConfigParser()
    said.read(ROOT / "subprojects/pybind11.wrap")
    wrap = said["wrap-file"]
    unpacked = tmp_path / "project/subprojects" / wrap["directory"]
    shutil.copytree(ROOT / "subprojects/packagefiles" / wrap["patch_directory"], unpacked)
    shutil.copytree(pybind11.get_include(), unpacked / "include")
    version = wrap["directory"].removeprefix("pybind11-")
    assert f"version: '{version}'" in (unpacked / "meson.build").read_text()
    assert wrap["source_url"].endswith(f"/v{version}.tar.gz") and len(wrap["source_hash"]) == 64
    options = ["-Dopyard:kernels=false", f"-Dopyard:pythons={tmp_path / 'venv/bin/python'}"]
    choices = ["--wrap-mode=nodownload", "--force-fallback-for=opyard,pybind11"]
    printed = run(*meson(), "setup", "built", "project", *choices, *options, cwd=tmp_path)
    assert f"Dependency pybind11 for host machine found: YES {version} (overridden)" in printed
    targets = json.loads(run(*meson(), "introspect", "--targets", "built", cwd=tmp_path))
    bound = [
        part["parameters"]
        for target in targets
        if target["name"].startswith("_bind.")
        for part in target["target_sources"]
        if part.get("language") == "cpp"
    ]
    folder = f"/subprojects/{wrap['directory']}/include"
    assert bound and all(any(word.endswith(folder) for word in words) for words in bound)


def cmake(*words, folder):
    found = Path(sys.executable).parent / "cmake"
    program = found if found.exists() else shutil.which("cmake")
    if program is None:
        pytest.skip("there is no cmake")
    return run(program, *words, cwd=folder)


def test_a_cmake_project_finds_it(build_info, tmp_path):
    where = f"-Dopyard_DIR={build_info['cmake_dir']}"
    built = tmp_path / "built"
    cmake("-S", PROJECT, "-B", built, where, f"-DWANTED_VERSION={VERSION}", folder=tmp_path)
    cmake("--build", built, folder=tmp_path)
    check_programs(built, tmp_path)
    assert run(built / "consumer_c", cwd=tmp_path).strip() == VERSION


def test_the_cmake_file_moves_with_the_package(package, tmp_path):
    moved = tmp_path / "elsewhere" / "opyard"
    shutil.copytree(package, moved, ignore=shutil.ignore_patterns("_*.so", "__pycache__"))
    built = tmp_path / "built"
    cmake("-S", PROJECT, "-B", built, f"-Dopyard_DIR={moved / 'cmake'}", folder=tmp_path)
    cmake("--build", built, folder=tmp_path)
    places = dynamic(built / "consumer", "RUNPATH", tmp_path)
    assert [Path(place).resolve() for place in places] == [moved]


def test_cmake_says_which_component_is_missing(build_info, tmp_path):
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(ask NONE)\n"
        "find_package(opyard QUIET COMPONENTS jit nowhere)\n"
        'message(STATUS "found: ${opyard_FOUND}, ${opyard_NOT_FOUND_MESSAGE}")\n'
    )
    where = f"-Dopyard_DIR={build_info['cmake_dir']}"
    printed = cmake("-S", tmp_path, "-B", tmp_path / "built", where, folder=tmp_path)
    assert "found: 0, this Opyard has no component nowhere" in printed or (
        "found: FALSE, this Opyard has no component nowhere" in printed
    )


def test_the_cmake_file_knows_which_versions_it_serves(build_info, tmp_path):
    major, minor, patch = map(int, VERSION.split("."))
    (tmp_path / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.20)\nproject(ask NONE)\n"
        "find_package(opyard ${WANTED_VERSION} QUIET)\n"
        'message(STATUS "found: ${opyard_FOUND}")\n'
    )
    serves = {
        VERSION: "1",
        f"{major}.{minor}": "1",
        f"{major}.{minor}.{patch + 1}": "0",
        f"{major}.{minor + 1}": "0",
        f"{major + 1}.{minor}": "0",
    }
    for number, (version, found) in enumerate(serves.items()):
        where = f"-Dopyard_DIR={build_info['cmake_dir']}"
        printed = cmake(
            *("-S", tmp_path, "-B", tmp_path / f"{number}", where, f"-DWANTED_VERSION={version}"),
            folder=tmp_path,
        )
        assert f"found: {found}" in printed, version


def meson():
    return [sys.executable, "-m", "mesonbuild.mesonmain"]


@pytest.mark.parametrize(
    "option", ["--pkgconfigdir", "--cmakedir", "--includedir", "--library", "--kernels"]
)
def test_python_m_opyard_says_where_things_lie(wheel_python, option, tmp_path):
    printed = run(wheel_python, "-m", "opyard", option, cwd=tmp_path).strip()
    assert Path(printed).exists(), printed


def write_model(wheel_python, folder):
    """A model that doubles, and an input and its answer, as files."""
    program = (
        "import numpy, opyard\n"
        "graph = opyard.jit.parse_ir('graph(%x : Tensor):\\n  %y : Tensor = aten::add(%x, %x)\\n'\n"
        "    '  return (%y)\\n')\n"
        "opyard.jit.save(graph, 'model.safetensors')\n"
        "numpy.save('x.npy', numpy.float32([1, 2])); numpy.save('y.npy', numpy.float32([2, 4]))\n"
    )
    run(wheel_python, "-c", program, cwd=folder)


CHECKED = ["model.safetensors", "--input", "x.npy", "--check", "y.npy"]


def test_the_program_that_needs_no_python_is_in_the_wheel(wheel_python, tmp_path):
    write_model(wheel_python, tmp_path)
    run(wheel_python.parent / "opyard-run", *CHECKED, cwd=tmp_path)


def test_that_program_is_an_archive_of_its_own(wheel_python, tmp_path):
    write_model(wheel_python, tmp_path)
    run(ROOT / "tools/run-archive", cwd=tmp_path)
    [archive] = (ROOT / "build/dist").glob("opyard-run-*.tar.xz")
    assert archive.stat().st_size < 5_000_000
    run("tar", "-xf", archive, cwd=tmp_path)
    [folder] = tmp_path.glob("opyard-run-*")
    run("env", "-i", folder / "bin/opyard-run", *CHECKED, cwd=tmp_path)
    needed = {name for file in folder.rglob("*.so") for name in dynamic(file, "NEEDED", tmp_path)}
    assert needed <= SYSTEM_LIBRARIES | {path.name for path in folder.glob("*.so")}
