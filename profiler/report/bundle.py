"""profiler/report/bundle.py: the page of a report from its parts, as C++ or as HTML.

    bundle.py --output FILE.cpp PAGE STYLE SCRIPT...

`@STYLE@` and `@SCRIPT@` in the page are replaced by the style and by the scripts, in their order.
"""

import argparse
from pathlib import Path


def bundle(page: Path, style: Path, scripts: "list[Path]") -> str:
    text = page.read_text("utf-8")
    script = "\n".join(one.read_text("utf-8") for one in scripts)
    if "</script" in script or "@DATA@" in script:
        raise SystemExit("a script of the report holds what ends it in the page")
    return text.replace("@STYLE@", style.read_text("utf-8")).replace("@SCRIPT@", script)


def as_cpp(text: str) -> str:
    numbers = [str(byte - 256 * (byte > 127)) for byte in text.encode("utf-8")]
    rows = (",".join(numbers[at : at + 40]) for at in range(0, len(numbers), 40))
    return (
        "// Made by profiler/report/bundle.py.\n"
        '#include "exports/report_page.h"\n'
        "namespace opyard::profiler {\n"
        "const char kReportPage[] = {\n"
        + ",\n".join(rows)
        + "};\nconst std::size_t kReportPageSize = sizeof kReportPage;\n"
        "}  // namespace opyard::profiler\n"
    )


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("page", type=Path)
    parser.add_argument("style", type=Path)
    parser.add_argument("scripts", type=Path, nargs="+")
    options = parser.parse_args()
    text = bundle(options.page, options.style, options.scripts)
    is_cpp = options.output.suffix == ".cpp"
    options.output.write_text(as_cpp(text) if is_cpp else text, "utf-8")


main()
