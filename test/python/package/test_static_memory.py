"""test_static_memory.py: thread-local variables fit into what the loader keeps for late libraries.

glibc keeps 1,664 bytes for all libraries with the initial-exec model that a program loads after its
start (GLIBC_TUNABLES glibc.rtld.optional_static_tls); other packages need some of it.
Suspect a thread_local array in a library: put it behind a pointer.
"""

import subprocess
import sysconfig

from built import build_folder, plain_build

MOST = 1400  # bytes, of all libraries of the package


def thread_memory(path):
    """The bytes that a library needs there; 0 for one that asks for its memory when it is used."""

    def said(what):
        command = ["readelf", what, "--wide", str(path)]
        return subprocess.run(command, capture_output=True, text=True, check=True).stdout

    if "STATIC_TLS" not in said("--dynamic"):
        return 0
    sizes = [line.split()[5] for line in said("--segments").splitlines() if " TLS " in line]
    return sum(int(size, 16) for size in sizes)


@plain_build
def test_thread_local_variables_of_all_libraries_fit():
    folder, suffix = build_folder(), sysconfig.get_config_var("EXT_SUFFIX")
    libraries = [
        path
        for path in folder.rglob("*.so")
        if path.relative_to(folder).parts[0] not in ("test", "examples")
        and (".cpython-" not in path.name or path.name.endswith(suffix))
    ]
    sizes = {path.name: thread_memory(path) for path in libraries}
    assert sizes["libopyard.so"] > 100
    assert sum(sizes.values()) <= MOST, {name: size for name, size in sizes.items() if size}
