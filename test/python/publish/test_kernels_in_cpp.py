"""test_kernels_in_cpp.py: README's kernel, written without a thought of PyTorch, published there.

It has no kernel for Meta but its own, dispatcher/src/registry/cpu_on_meta.cpp. Suspect that, then
publish/python/opyard/_torch/.
"""

import re
import shutil
import subprocess

import pytest
from built import ROOT
from frameworks import require

import opyard
from opyard import _build_info

torch = require("torch")
pytestmark = pytest.mark.once


@pytest.fixture(scope="module")
def twice(tmp_path_factory):
    [block] = re.findall(
        r"^```cpp\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL
    )
    compiler = shutil.which("c++")
    assert compiler is not None
    folder = tmp_path_factory.mktemp("published")
    (folder / "demo.cpp").write_text(block)
    subprocess.run(
        [compiler, "-std=c++20", "-shared", "-fPIC"]
        + [f"-I{path}" for path in _build_info.include_dirs]
        + ["demo.cpp", "-o", "libdemo.so", _build_info.library],
        cwd=folder,
        check=True,
    )
    opyard.load_library(folder / "libdemo.so")
    with opyard.torch.publish("demo") as published:
        yield published
    opyard.unload_library(folder / "libdemo.so")


def test_X37_opcheck_passes_for_the_kernel_of_README(twice):
    for x in (torch.randn(3, 4), torch.randn(4, 3).t(), torch.randn(0), torch.randn(8)[::2]):
        found = torch.library.opcheck(torch.ops.demo.twice.default, (x,))
        assert set(found.values()) == {"SUCCESS"}, found


def test_X37_it_is_compiled_once_for_all_sizes(twice):
    compiled = torch.compile(
        lambda x: torch.ops.demo.twice(x) + 1, fullgraph=True, dynamic=True, backend="aot_eager"
    )
    with torch._dynamo.config.patch(error_on_recompile=True):
        for size in (5, 9, 17, 33):
            x = torch.randn(size, 3)
            torch.testing.assert_close(compiled(x), x * 2 + 1)
    torch._dynamo.reset()
