"""tools/site/python_pages.py: the reference of the package, of what python_names.py found."""

import re
import textwrap
from pathlib import Path

from headers import escaped

OPERATORS = "tensor_methods"  # the page of methods that are operators
HEAD_OF_OPERATORS = """# Methods of Tensor that are operators

Each method is the operator of `opyard.ops.aten` with the same name, and the tensor is its first
argument: `x.sum(0)` is `opyard.ops.aten.sum(x, 0)`; a method with a sentence of its own is a
function on one. NumPy's names of arguments, `axis` and
`keepdims`, are taken too. A name that ends in `_` writes to the tensor.
[The page of operators](../../guides/operators.md#operators-of-opyardopsaten) has their schemas,
the overloads that write to `out`, backends and gradients;
[opyard.Tensor](opyard.md#tensor) has the other methods and the properties.

"""
EXAMPLES = Path(__file__).with_name("examples.txt")


def examples(text: str) -> "dict[str, str]":
    """The example of each name, of a text in which "== names" begins one."""
    found = {}
    for part in re.split(r"^== ", text, flags=re.MULTILINE)[1:]:
        names, _, code = part.partition("\n")
        for name in names.split():
            found[name] = code.strip() + "\n"
    return found


def as_markdown(doc: str) -> str:
    """A docstring as Markdown: what is indented is a program if it looks like one."""
    out: list[str] = []
    code: list[str] = []

    def flush() -> None:
        while code and not code[-1].strip():
            code.pop()
        if code:
            text = textwrap.dedent("\n".join(code))
            python = re.search(
                r"^(?:import|from|with|def|class|@|>>>|print\()|[\w.\]]+ = |\w\(", text, re.M
            )
            out.extend(["", "```python" if python else "```text", *text.split("\n"), "```", ""])
            code.clear()

    in_list = False
    for line in doc.split("\n"):
        item = re.match(r"[-*] ", line)
        if item or (in_list and re.match(r" {2,}\S", line)):
            flush()
            if item and not in_list:
                out.append("")
            in_list = True
            out.append(escaped_doc(line) if item else "  " + escaped_doc(line.strip()))
            continue
        in_list = False if line.strip() else in_list
        if re.match(r" {2,}\S", line) or (code and not line.strip()):
            code.append(line)
            continue
        flush()
        out.append(escaped_doc(line))
    flush()
    return re.sub(r"\n{3,}", "\n\n", "\n".join(out)).strip()


def escaped_doc(line: str) -> str:
    """Lists stay lists."""
    mark = re.match(r"[-*] ", line)
    return (mark.group() if mark else "") + escaped(line[mark.end() :] if mark else line)


def signature(name: str, given: str, kind: str) -> str:
    """A declaration; a long one has a parameter a line."""
    if kind == "property":
        return f"{name}{given}"
    text = f"{name}{given}"
    if len(text) <= 92:
        return text
    inside, close, after = given[1:].rpartition(")")
    if " -> " in inside:  # a result with parentheses of its own
        inside, _, after = given[1:].partition(") -> ")
        after = " -> " + after
        close = ")"
    parts, depth, part = [], 0, ""
    for letter in inside:
        depth += letter in "([{"
        depth -= letter in ")]}"
        if letter == "," and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    if part.strip():
        parts.append(part.strip())
    return f"{name}(\n    " + ",\n    ".join(parts) + f",\n{close}{after}"


def declaration(prefix: str, entry: dict) -> str:
    lines = [signature(prefix + entry["name"], one, entry["kind"]) for one in entry["signatures"]]
    return "\n".join(["```python", *(lines or [prefix + entry["name"]]), "```"])


def entry_of(module: str, entry: dict, example_of: "dict[str, str]") -> "list[str]":
    name, kind = entry["name"], entry["kind"]
    out = [f"## {escaped(name)}", ""]
    prefix = f"class {module}." if kind == "class" else f"{module}."
    out += [declaration(prefix, entry), ""]
    if bases := [base for base in entry.get("bases", []) if not base.startswith("_")]:
        out += ["Base: " + ", ".join(f"`{base}`" for base in bases) + ".", ""]
    out += [as_markdown(entry["doc"]), ""]
    if example := example_of.get(f"{module}.{name}"):
        out += ["```python", example.rstrip(), "```", ""]
    if entry.get("operators"):
        out += [f"[Methods that are operators]({OPERATORS}.md) have a page of their own.", ""]
    for member in entry.get("members", []):
        out += [f"### {escaped(name)}.{escaped(member['name'])}", "", declaration("", member), ""]
        out += [as_markdown(member["doc"]), ""]
    return out


def page(module: dict) -> str:
    name = module["name"]
    example_of = examples(EXAMPLES.read_text("utf-8"))
    out = [f"# {name}", "", as_markdown(module["doc"]), ""]
    if example := example_of.get(name):
        out += ["An example of the whole module:", "", "```python", example.rstrip(), "```", ""]
    entries = module["names"]
    modules = [one for one in entries if one["kind"] == "module"]
    values = [one for one in entries if one["kind"] == "value"]
    rest = [one for one in entries if one["kind"] in ("class", "function")]
    if modules:
        out += ["| module | what it has |", "| --- | --- |"]
        for one in modules:
            said = as_markdown(one["doc"]).replace("\n", " ")
            out.append(f"| [{name}.{one['name']}]({one['of']}.md) | {said} |")
        out.append("")
    if values:
        out += ["| value | type | |", "| --- | --- | --- |"]
        out += [
            f"| `{one['name']}` | `{one['type']}` | `{one['value']}` |".replace("``", "")
            for one in values
        ]
        out.append("")
    for one in sorted(rest, key=lambda one: (one["name"].lower(), one["name"])):
        out += entry_of(name, one, example_of)
    return "\n".join(out) + "\n"


def page_of_operators(methods: "list[dict]") -> str:
    """A table a letter, with a row a method and a line an overload."""
    out = [HEAD_OF_OPERATORS]
    letter = ""
    for method in methods:
        if method["name"][0] != letter:
            letter = method["name"][0]
            out += ["", f"## {letter.upper()}", "", "| method | takes and gives |", "| --- | --- |"]
        given = [f"`{one}`".replace("|", "\\|") for one in method["signatures"]]
        given += [as_markdown(method["doc"])] if method["doc"] else []
        out.append(f"| `{method['name']}` | {'<br>'.join(given)} |")
    return "\n".join(out) + "\n"


def pages(modules: "list[dict]") -> "dict[str, str]":
    made = {f"reference/python/{module['name']}.md": page(module) for module in modules}
    for module in modules:
        for entry in module["names"]:
            if entry.get("operators"):
                made[f"reference/python/{OPERATORS}.md"] = page_of_operators(entry["operators"])
    return made
