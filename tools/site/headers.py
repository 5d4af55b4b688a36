"""tools/site/headers.py: the reference of the C and C++ headers, by Doxygen's XML.

Comments of the headers are plain ones, so `marked` gives Doxygen a copy of each header in which
they are Doxygen's, and verbatim: what Doxygen finds is which name has which declaration and which
comment, and the comment itself comes out as it was written. `pages` makes Markdown of that.
"""

import re
import subprocess
import textwrap
from pathlib import Path
from xml.etree import ElementTree

ROOT = Path(__file__).resolve().parents[2]
LAYERS = ["dispatcher", "jit", "models", "autograd", "profiler", "pyfallback"]
IN_C = {
    "c_api.h",
    "python.h",
    "c_plugin.h",
    "c_error.h",
    "c_function.h",
    "c_device.h",
    "c_dlpack.h",
}

DOXYGEN = """
INPUT = {source}
OUTPUT_DIRECTORY = {output}
RECURSIVE = YES
FILE_PATTERNS = *.h
EXTENSION_MAPPING = h=C++
GENERATE_HTML = NO
GENERATE_LATEX = NO
GENERATE_XML = YES
XML_PROGRAMLISTING = NO
EXTRACT_ALL = YES
SORT_MEMBER_DOCS = NO
MARKDOWN_SUPPORT = NO
AUTOLINK_SUPPORT = NO
MACRO_EXPANSION = YES
EXPAND_ONLY_PREDEF = YES
PREDEFINED = OPYARD_API= OPYARD_COLD= OPYARD_CACHED_API= __cplusplus=202002L
QUIET = YES
WARNINGS = NO
STRIP_FROM_PATH = {source}
"""


def public_headers() -> "list[Path]":
    found = (path for layer in LAYERS for path in (ROOT / layer / "include").glob("opyard/**/*.h"))
    return sorted(path for path in found if "detail" not in path.parts)


def include_path(path: Path) -> str:
    return str(path).split("/include/", 1)[1]


def comment_of(line: str) -> "tuple[int, str] | None":
    """Where a comment of a whole line begins, and its text."""
    found = re.match(r"(\s*)// ?(.*)$", line)
    return (len(found[1]), found[2]) if found else None


def trailing_comment(line: str) -> "tuple[str, int, str] | None":
    """The code of a line, where the comment behind it begins, and its text."""
    found = re.match(r"(\s*\S.*?;?,?)\s+// (.*)$", line)
    if found is None or line.lstrip().startswith(("//", "#", "}")) or found[1].count('"') % 2:
        return None
    return found[1], line.index("// ", len(found[1])), found[2]


# Macros, the list that is read with them, a file or a macro, and their end.
LIST = re.compile(
    r"(?:^ *#define OPYARD_\w+\((?:.*\\\n)*.*\n)+"
    r"(?:^ *#include \"\S+\.def\"\n|^ *OPYARD_\w+\(OPYARD_\w+\)\n)+"
    r"(?:^ *#undef \w+\n)*",
    re.MULTILINE,
)
# A macro whose rows have a meaning in words: a value of an enum, or a declaration.
MEANT = re.compile(
    r"^( *#define \w+\([^)]*\b(meaning|words)\b[^)]*\) +(?:\w+(?: = \w+)?,|[^{}\n]*;))$",
    re.MULTILINE,
)


def expanded(text: str) -> str:
    """A header with the rows of its lists in their place, as the compiler reads them: values of
    enums, each with its meaning, functions, tables. The lines keep their numbers.
    """
    macros = "".join(re.findall(r'^#include "\S+/keys\.def"\n', text, re.MULTILINE))
    return LIST.sub(lambda found: rows_of(macros, found.group()), text)


def meaning_of(literals: str, is_sentence: bool) -> str:
    """Doxygen's comment of a row, from adjacent literals."""
    said = "".join(re.findall(r'"([^"]*)"', literals))
    if is_sentence:
        said = f"{said[0].upper()}{said[1:]}."
    return f" /*!< \\verbatim {said} \\endverbatim */"


def rows_of(macros: str, region: str) -> str:
    folders = [f"-I{ROOT / layer / 'include'}" for layer in LAYERS]
    done = subprocess.run(
        ["c++", "-E", "-P", "-x", "c++", *folders, "-"],
        input=macros + MEANT.sub(r"\1 OPYARD_MEANT(\2)", region),
        capture_output=True,
        text=True,
        check=True,
    )
    rows = re.sub(
        r'([,;]) OPYARD_MEANT\(((?:"[^"]*" ?)+)\)',
        lambda row: row[1] + meaning_of(row[2], row[1] == ";"),
        " ".join(done.stdout.split()),
    )
    if "OPYARD_" in rows.replace("OPYARD_API", "").replace("OPYARD_ERROR_", "").replace(
        "OPYARD_KIND_", ""
    ):
        return region  # a row calls macros of another list
    if re.search(r"\btemplate <>|\bnamespace\b|\bstatic_assert\b", rows):
        rows = ""  # a constant or a class for each row, which no one looks for by its name
    return rows + "\n" * region.count("\n")


def marked(text: str) -> str:
    """A header with its comments as Doxygen's. The lines keep their numbers."""
    lines = text.split("\n")
    out: list[str] = []
    at = 0
    while at < len(lines) and comment_of(lines[at]):  # the head, which head_of() reads
        out.append("")
        at += 1
    while at < len(lines):
        if trailing := trailing_comment(lines[at]):
            code, column, first = trailing
            said = [first]
            while at + len(said) < len(lines):
                more = comment_of(lines[at + len(said)])
                if more is None or more[0] != column:
                    break
                said.append(more[1])
            out.append(f"{code} /*!< \\verbatim {' '.join(said)} \\endverbatim */")
            out += [""] * (len(said) - 1)
            at += len(said)
        elif comment_of(lines[at]):
            begin = at
            while at < len(lines) and comment_of(lines[at]):
                at += 1
            said = [comment_of(line)[1] for line in lines[begin:at]]  # type: ignore[index]
            if at < len(lines) and lines[at].strip() and not said[0].startswith("----"):
                said = [line.replace("*/", "* /") for line in said]
                if len(said) == 1:
                    out.append(f"/*! \\verbatim {said[0]} \\endverbatim */")
                else:
                    out.append(f"/*! \\verbatim {said[0]}")
                    out += [*said[1:-1], f"{said[-1]} \\endverbatim */"]
            else:
                out += [""] * len(said)
        else:
            out.append(lines[at])
            at += 1
    return "\n".join(out)


def head_of(path: Path) -> "tuple[str, list[str]]":
    """What a header's first line says that it is for, and the rest of its head comment."""
    lines = []
    for line in path.read_text("utf-8").split("\n"):
        found = comment_of(line)
        if found is None:
            break
        lines.append(found[1])
    first, _, rest = (
        "\n".join(lines).partition("\n\n")
        if "\n\n" in "\n".join(lines)
        else ("\n".join(lines), "", "")
    )
    title = " ".join(first.split("\n")).partition(": ")[2]
    return title, rest.split("\n")


def as_markdown(lines: "list[str]") -> str:
    """A comment as Markdown: what is indented by two columns or more is shown as it is."""
    out: list[str] = []
    code: list[str] = []

    def flush() -> None:
        while code and not code[-1].strip():
            code.pop()
        if code:
            out.extend(["", "```text", *textwrap.dedent("\n".join(code)).split("\n"), "```", ""])
            code.clear()

    in_list = False
    for line in lines:
        item = re.match(r"\s{0,3}- ", line) is not None
        if item or (in_list and line.startswith("  ") and line.strip()):
            flush()
            if item and not in_list:
                out.append("")
            in_list = True
            out.append(escaped(line.strip() if item else "  " + line.strip()))
            continue
        if in_list and not line.strip():
            in_list = False
        if re.match(r" {2,}\S", line) or (code and not line.strip()):
            code.append(line)
            continue
        flush()
        in_list = False
        if line.startswith("Depends on:"):
            break
        out.append(escaped(line))
    flush()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def escaped(text: str) -> str:
    """Prose in which only `code` means something to Markdown; what looks like code is code."""
    parts = re.split(r"(`[^`]*`)", text)
    for i in range(0, len(parts), 2):
        parts[i] = re.sub(r"([*_<>\[\]|$#\\~])", r"\\\1", parts[i])
    return "".join(parts)


def text_of(element: "ElementTree.Element | None") -> str:
    return "" if element is None else re.sub(r"\s+", " ", "".join(element.itertext())).strip()


def comment_in(member: ElementTree.Element) -> "list[str]":
    lines: list[str] = []
    for name in ("briefdescription", "detaileddescription"):
        element = member.find(name)
        for verbatim in [] if element is None else element.iter("verbatim"):
            lines += textwrap.dedent((verbatim.text or "").strip(" ")).strip("\n").split("\n")
    return lines


def plain(code: str) -> str:
    """Doxygen's spaces as this project has them."""
    code = re.sub(r" '(?=\d)", "'", code)
    code = re.sub(r"< (?=\S)", "<", re.sub(r"(?<=\S) >", ">", code))
    code = re.sub(r" ([*&]+)(?=\.\.\.|\s*[\w,)>=]|$)", r"\1 ", code)
    code = (
        re.sub(r"([*&]) +(?=[,)>])", r"\1", code).replace("& ...", "&... ").replace("opyard::", "")
    )
    return re.sub(r"(?<=[\w>)\]])=(?=[\w{\"-])", " = ", re.sub(r" {2,}", " ", code)).rstrip()


def declaration_of(member: ElementTree.Element, of: str = "") -> str:
    kind = member.get("kind")
    name = text_of(member.find("name"))
    parameters = []
    template = member.find("templateparamlist")
    if template is not None:
        for one in template.findall("param"):
            said = " ".join(
                filter(None, [text_of(one.find("type")), text_of(one.find("declname"))])
            )
            default = text_of(one.find("defval"))
            parameters.append(said + (f" = {default}" if default else ""))
    head = f"template <{', '.join(parameters)}>\n" if parameters else ""
    if kind == "define":
        given = [text_of(one.find("defname")) for one in member.findall("param")]
        return f"#define {name}" + (
            f"({', '.join(given)})" if member.find("param") is not None else ""
        )
    if kind == "enum":
        values = [text_of(one.find("name")) for one in member.findall("enumvalue")]
        word = "enum class" if member.get("strong") == "yes" else "enum"
        shown = ", ".join(values)
        return f"{word} {name}" + (f" {{ {shown} }}" if values else "")
    definition = text_of(member.find("definition"))
    if of:  # a member of a class is named without it
        definition = re.sub(rf"{re.escape(of)}(?:< [^:]* >)?::(?=\S)", "", definition)
    if member.get("virt") == "pure-virtual" and "virtual" not in definition:
        definition = "virtual " + definition
    if kind == "function":
        definition += text_of(member.find("argsstring"))
        if member.get("static") == "yes" and not definition.startswith("static"):
            definition = "static " + definition
    elif kind == "variable":
        initial = text_of(member.find("initializer"))
        definition += f" {initial}" if 0 < len(initial) < 60 else ""
    return head + wrapped(plain(definition))


def wrapped(declaration: str) -> str:
    """A long declaration with a parameter a line."""
    if len(declaration) <= 96 or "(" not in declaration:
        return declaration
    before, _, rest = declaration.partition("(")
    inside, close, after = rest.rpartition(")")
    parts, depth, part = [], 0, ""
    for letter in inside:
        depth += letter in "(<[{"
        depth -= letter in ")>]}"
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    parts.append(part.strip())
    return f"{before}(\n    " + ",\n    ".join(parts) + close + after


class Reference:
    """What Doxygen found."""

    def __init__(self, folder: Path) -> None:
        self.compounds: dict[str, ElementTree.Element] = {}
        self.by_file: dict[str, list[tuple[int, ElementTree.Element]]] = {}
        for path in sorted(folder.glob("*.xml")):
            for compound in ElementTree.parse(path).getroot().findall("compounddef"):
                self.compounds[compound.get("id", "")] = compound
        for compound in self.compounds.values():
            kind, name = compound.get("kind"), text_of(compound.find("compoundname"))
            if "::detail" in name or name.startswith("std"):
                continue
            if kind in ("class", "struct", "union"):
                if self.is_inner(compound):
                    continue
                self.add(compound)
            if kind in ("namespace", "file"):
                for member in compound.iter("memberdef"):
                    self.add(member)

    def is_inner(self, compound: ElementTree.Element) -> bool:
        """A class in a class is shown there."""
        number = compound.get("id")
        return any(
            inner.get("refid") == number
            for other in self.compounds.values()
            if other.get("kind") in ("class", "struct")
            for inner in other.findall("innerclass")
        )

    def add(self, element: ElementTree.Element) -> None:
        location = element.find("location")
        if location is None or "@" in text_of(element.find("name")):
            return
        file, line = location.get("declfile") or location.get("file", ""), location.get("line", "0")
        entries = self.by_file.setdefault(file, [])
        if not any(known.get("id") == element.get("id") for _, known in entries):
            entries.append((int(line), element))

    def names(self, file: str) -> "list[tuple[int, ElementTree.Element]]":
        return sorted(self.by_file.get(file, []), key=lambda entry: entry[0])

    def members(self, compound: ElementTree.Element) -> "list[ElementTree.Element]":
        found = [
            member
            for section in compound.findall("sectiondef")
            if (section.get("kind") or "").startswith(
                ("public", "protected", "user-defined", "friend")
            )
            for member in section.findall("memberdef")
            if member.get("prot") != "private" and member.get("kind") != "friend"
        ]
        return sorted(found, key=lambda m: int(m.find("location").get("line", "0")))  # type: ignore

    def entry(self, element: ElementTree.Element, level: int) -> "list[str]":
        """A class with its members."""
        kind = element.get("kind")
        name = text_of(element.find("compoundname")).replace("opyard::", "")
        bases = [
            f"{base.get('prot')} {text_of(base)}".replace("opyard::", "")
            for base in element.findall("basecompoundref")
            if "detail" not in text_of(base)
        ]
        template = element.find("templateparamlist")
        head = ""
        if template is not None:
            given = (
                " ".join(filter(None, [text_of(p.find("type")), text_of(p.find("declname"))]))
                for p in template.findall("param")
            )
            head = f"template <{', '.join(given)}>\n"
        out = [f"{'#' * level} {escaped(name)}", ""]
        out += [
            "```cpp",
            f"{head}{kind} {name}" + (f" : {', '.join(bases)}" if bases else ""),
            "```",
            "",
        ]
        out += [as_markdown(comment_in(element)), ""]
        full = text_of(element.find("compoundname"))
        out += self.declarations([(0, member) for member in self.members(element)], full)
        for inner in element.findall("innerclass"):
            compound = self.compounds.get(inner.get("refid", ""))
            if compound is not None and inner.get("prot") == "public":
                out += self.entry(compound, min(level + 1, 6))
        return out

    def declarations(
        self, members: "list[tuple[int, ElementTree.Element]]", of: str = ""
    ) -> "list[str]":
        """Members that are written without a line between them, under one comment."""
        out: list[str] = []
        group: list[str] = []
        said: list[str] = []
        last = -9

        def flush() -> None:
            if group:
                out.extend(["```cpp", *group, "```", "", as_markdown(said), ""])
            group.clear()
            said.clear()

        for _, member in members:
            line = int(member.find("location").get("line", "0"))  # type: ignore[union-attr]
            comment = comment_in(member)
            if "@" in text_of(member.find("definition")):
                continue
            if member.get("kind") == "variable" and len(comment) == 1:
                # The comment of a field is shown beside it.
                if said or line > last + 3:
                    flush()
                declared = declaration_of(member, of)
                beside = len(declared) + len(comment[0]) < 96
                group.append(
                    f"{declared}  // {comment[0]}" if beside else f"// {comment[0]}\n{declared}"
                )
                last = line
                continue
            if comment or line > last + 3 or said:
                # A comment is of what follows it directly, too.
                if comment or line > last + 3:
                    flush()
            group.append(declaration_of(member, of))
            if member.get("kind") == "enum":
                for value in member.findall("enumvalue"):
                    if lines := comment_in(value):
                        said.append(f"- `{text_of(value.find('name'))}`: {' '.join(lines)}")
            pointer = re.search(r"CountedPtr<\s*(.+?)\s*>$", text_of(member.find("type")))
            if member.get("kind") == "typedef" and pointer and not comment:
                said.append(f"A counted pointer to `{pointer[1]}`.")
            said.extend(comment)
            location = member.find("location")
            last = int(location.get("bodyend") or line)  # type: ignore[union-attr]
            last = max(last, line)
        flush()
        return out


def read(output: Path) -> Reference:
    source = output / "headers"
    for path in public_headers():
        copy = source / include_path(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_text(marked(expanded(path.read_text("utf-8"))), "utf-8")
    settings = DOXYGEN.format(source=source, output=output)
    subprocess.run(["doxygen", "-"], input=settings, text=True, check=True, cwd=output)
    return Reference(output / "xml")


def section(reference: Reference, path: Path, level: int = 2) -> str:
    """A header: what it is for, and its names."""
    include = include_path(path)
    title, rest = head_of(path)
    out = [f"{'#' * level} {escaped(include)}", "", escaped(title[:1].upper() + title[1:]), ""]
    out += [as_markdown(rest), "", "```cpp", f'#include "{include}"', "```", ""]
    group: list[tuple[int, ElementTree.Element]] = []
    names: list[str] = []

    def flush() -> None:
        if group:
            shown = list(dict.fromkeys(names))
            out.extend([f"{'#' * (level + 1)} {escaped(', '.join(shown))}", ""])
            out.extend(reference.declarations(group))
        group.clear()
        names.clear()

    # Macros that end in the header, and parts of others.
    text = path.read_text("utf-8")
    hidden = {*re.findall(r"^#undef (\w+)", text, re.MULTILINE), "OPYARD_LIBRARY_BLOCK"}
    hidden |= {"OPYARD_JOIN", "OPYARD_JOIN_2"}
    last = -9
    for line, element in reference.names(include):
        if element.tag == "compounddef":
            special = re.match(
                r"(?:opyard::)*(?:ValueCast|ArgumentOf)<", text_of(element.find("compoundname"))
            )
            if special and not comment_in(element):
                continue  # what a template does for one type; the template says it
            flush()
            out.extend(reference.entry(element, level + 1))
            last = -9
            continue
        name = text_of(element.find("name"))
        if name in hidden or "OPYARD_VALUE_CAST" in text_of(element.find("argsstring")):
            continue
        if not name or name.startswith("OPYARD_DETAIL"):
            continue
        if re.fullmatch(
            rf"typedef (struct|union|enum) {name} {name}", text_of(element.find("definition"))
        ):
            if any(
                text_of(one.find("compoundname")) == name for _, one in reference.names(include)
            ):
                continue  # C's second name of what is shown as a struct
        if (name not in names and (line > last + 3 or comment_in(element))) or len(names) > 5:
            flush()
        group.append((line, element))
        names.append(name)
        location = element.find("location")
        last = max(line, int(location.get("bodyend") or line))  # type: ignore[union-attr]
    flush()
    return "\n".join(out) + "\n"


TITLES = {
    "opyard": ("First headers", "What most programs include, and what each of them includes."),
    "autograd": ("Gradients", "The library `libopyard_autograd.so`."),
    "base": ("Errors, warnings and memory", ""),
    "ffi": ("C functions and DLPack", ""),
    "inspect": ("Inspecting the registry", ""),
    "interpreter": ("Interpreters of Python", ""),
    "jit": ("Graphs", "The library `libopyard_jit.so`."),
    "keys": ("Dispatch keys", ""),
    "models": ("Exported models", "The library `libopyard_models.so`."),
    "observe": ("Observers", ""),
    "plugin": ("Plugins", ""),
    "pool": ("The pool of threads", ""),
    "profiler": ("The profiler", "The library `libopyard_profiler.so`."),
    "remote": ("Tensors on workers", "The library `libopyard_remote.so`."),
    "registry": ("Operators and the registry", ""),
    "schema": ("Schemas and types", ""),
    "tensor": ("Tensors", ""),
    "thread": ("State of a thread", ""),
    "value": ("Values", ""),
}


def pages(output: Path) -> "dict[str, str]":
    """The pages, by their names in the site."""
    reference = read(output)
    headers: dict[str, list[Path]] = {}
    in_c: list[Path] = []
    for path in public_headers():
        folder = Path(include_path(path)).parent.name
        if path.name in IN_C:
            in_c.append(path)
        else:
            headers.setdefault(folder, []).append(path)
    made = {}
    for folder, paths in headers.items():
        title, said = TITLES[folder]
        text = f"# {title}\n\n{said}\n\n"
        made[f"reference/cpp/{folder}.md"] = text + "\n".join(section(reference, p) for p in paths)
    first = {"c_api.h": 0, "python.h": 1}
    in_c.sort(key=lambda path: (first.get(path.name, 2), path.name))
    text = "# C headers\n\nFor programs in C99 and for extension modules of CPython.\n\n"
    for path in in_c:
        name = path.stem
        made[f"reference/c/{name}.md"] = section(reference, path, 1)
    return made
