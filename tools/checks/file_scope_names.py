"""tools/checks/file_scope_names.py: the names that a C++ source declares for itself alone.

That is, in an anonymous namespace or as `static` at file scope. A unity build compiles 25 sources
of a library as one, so such a name belongs to one source of its library; names.py asks.

It reads C++ as the formatter leaves it, without a compiler: comments and texts are blanked, braces
are matched, and the head of each declaration of file scope is looked at.
"""

import re
from collections.abc import Iterator

BLANKED = re.compile(
    r"//[^\n]*|/\*.*?\*/"
    r'|R"(?P<mark>\w*)\(.*?\)(?P=mark)"|"(?:\\.|[^"\\\n])*"'
    r"|(?<![0-9A-Fa-f])'(?:\\.|[^'\\\n])+'",
    re.DOTALL,
)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", re.MULTILINE)
NAMESPACE = re.compile(r"(?:^|\s)(?:inline\s+)?namespace\s*(?P<name>[\w:]*)$")
LINKAGE = re.compile(r'extern\s*""$')
TYPE = re.compile(
    r"(?:struct|class|union|enum(?:\s+(?:class|struct))?)\s+(?P<name>[\w:]+)(?P<special><.*>)?"
    r"\s*(?:final)?\s*(?::[^:].*)?$",
    re.DOTALL,
)
ALIAS = re.compile(r"using\s+(\w+)\s*=")
NO_DECLARATION = re.compile(r"(?:using|friend|static_assert|(?:extern\s+)?template)\b")
IS_STATIC = re.compile(r"(?:(?:inline|constexpr)\s+)*static\b")
ATTRIBUTE = re.compile(r"\[\[.*?\]\]|alignas\([^)]*\)|__attribute__\(\(.*?\)\)", re.DOTALL)
OPERATOR = re.compile(r"\boperator\b")
FUNCTION = re.compile(r"([\w:]+)\s*(?:<[^()]*>)?\s*$")
VARIABLE = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)*$")
PAIRS = {"(": ")", "[": "]", "{": "}", "<": ">"}


def _blank(match: re.Match[str]) -> str:
    lines = "\n" * match[0].count("\n")
    return lines if match[0].startswith("/") else '""' + lines


def _end_of(text: str, start: int) -> int:
    """The place behind the bracket that closes the one at `start`."""
    left, right, depth = text[start], PAIRS[text[start]], 0
    for at in range(start, len(text)):
        depth += (text[at] == left) - (text[at] == right)
        if depth == 0:
            return at + 1
    return len(text)


def _without_template(head: str) -> str:
    while re.match(r"template\s*<", head):
        head = head[_end_of(head, head.index("<")) :].strip()
    return head


def _name_of(head: str, is_own: bool) -> str | None:
    """The name that a declaration gives to a source alone; None if it gives none."""
    head = ATTRIBUTE.sub("", _without_template(ATTRIBUTE.sub("", head).strip())).strip()
    if not (is_own or IS_STATIC.match(head)):
        return None
    if found := ALIAS.match(head):
        return found[1]
    if NO_DECLARATION.match(head):
        return None
    if found := TYPE.match(head):
        return None if found["special"] or "::" in found["name"] else found["name"]
    declarator = re.split(r"(?<![=!<>])=(?!=)", head)[0] if not OPERATOR.search(head) else head
    depth = 0
    for at, letter in enumerate(declarator):
        depth += (letter == "<") - (letter == ">")
        if letter == "(" and depth <= 0:
            found = FUNCTION.search(declarator[:at])
            name = found[1] if found else ""
            return None if not name or "::" in name or OPERATOR.search(declarator[:at]) else name
    found = VARIABLE.search(declarator.strip())
    return found[1] if found and not found[1][0].isdigit() else None


def file_scope_names(source: str) -> Iterator[tuple[int, str]]:
    """(line, name) of each declaration that is the source's own."""
    text = DIRECTIVE.sub(lambda found: "\n" * found[0].count("\n"), BLANKED.sub(_blank, source))
    own: list[bool] = []  # for each open namespace, whether it is an anonymous one
    start = at = 0
    while at < len(text):
        letter = text[at]
        head = text[start:at].strip()
        if letter == "{" and (NAMESPACE.search(head) or LINKAGE.search(head)):
            found = NAMESPACE.search(head)
            own.append(bool(found) and not found["name"])
            start = at = at + 1
        elif letter in "{([":
            end = _end_of(text, at)
            if letter == "{":
                # A body ends a declaration; braces of an initialiser have their semicolon behind.
                line = text.count("\n", 0, text.index(head, start)) + 1
                if name := _name_of(head, any(own)):
                    yield line, name
                rest = re.match(r"\s*;", text[end:])
                start = end = end + (rest.end() if rest else 0)
            at = end
        elif letter in ";}":
            if letter == "}" and own:
                own.pop()
            elif head and (name := _name_of(head, any(own))):
                yield text.count("\n", 0, text.index(head, start)) + 1, name
            start = at = at + 1
        else:
            at += 1
