"""tools/site/python_names.py: the public names of the package, as JSON on standard output.

Run by the Python that imports the built package, with the standard library alone. Docstrings and
signatures are asked of the objects; those of functions in C++ have signatures in the stubs.
PyTorch is not imported.
"""

import ast
import importlib.util
import inspect
import json
import pkgutil
import re
import sys
from pathlib import Path

Stubs = dict[str, list[str]]


def modules() -> "dict[str, object]":
    """The public modules: no part of their name begins with an underscore.

    A private module that a public one shows, such as opyard.jit.passes, is among them. In a wheel
    shared libraries are beside them, which pkgutil takes for modules as well.
    """
    import opyard

    found = {"opyard"}
    for module in pkgutil.walk_packages(opyard.__path__, "opyard."):
        if "._" in module.name or module.name.endswith("__main__"):
            continue
        spec = importlib.util.find_spec(module.name)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            found.add(module.name)
    shown = {name: importlib.import_module(name) for name in sorted(found)}
    for name, module in list(shown.items()):
        for public in module.__all__:
            thing = vars(module).get(public)
            if inspect.ismodule(thing) and "._" in thing.__name__:
                shown[f"{name}.{public}"] = thing
    return dict(sorted(shown.items()))


def public_names(module: object) -> "list[str]":
    if hasattr(module, "__all__"):
        return list(module.__all__)
    found = vars(module).items()
    return [name for name, thing in found if not name.startswith("_") and inspect.isfunction(thing)]


def stub_files() -> "list[Path]":
    import opyard

    files: list[Path] = []
    for folder in opyard.__path__:
        files += Path(folder).rglob("*.pyi")
    return files


def read_stubs() -> "tuple[Stubs, dict[str, str]]":
    """Signatures by "Class.method" or "function", and the docstrings of stubs."""
    signatures: Stubs = {}
    said: dict[str, str] = {}

    def visit(body: "list[ast.stmt]", prefix: str) -> None:
        for node in body:
            if isinstance(node, ast.FunctionDef):
                result = f" -> {ast.unparse(node.returns)}" if node.returns else ""
                text = f"({ast.unparse(node.args)}){result}"
                decorators = {ast.unparse(one) for one in node.decorator_list}
                if "property" in decorators:
                    text = f": {ast.unparse(node.returns)}" if node.returns else ""
                elif any(one.endswith(".setter") for one in decorators):
                    continue
                signatures.setdefault(prefix + node.name, []).append(plain(text))
            elif isinstance(node, ast.ClassDef):
                visit(node.body, f"{node.name}.")
            if isinstance(node, ast.FunctionDef | ast.ClassDef) and (
                doc := ast.get_docstring(node)
            ):
                said.setdefault(prefix + node.name, doc)

    for path in stub_files():
        visit(ast.parse(path.read_text("utf-8")).body, "")
    # Methods of Tensor are in a class of their own.
    for name in list(signatures):
        if name.startswith("TensorMethods."):
            signatures.setdefault("Tensor." + name.partition(".")[2], signatures[name])
    return signatures, said


def plain(text: str, is_bound: bool = False) -> str:
    """A signature without quotes around types and without names of modules that no one imports;
    and without `self`, unless the first parameter is gone already."""
    text = re.sub(r"\b(?:opyard\.)?_\w+(?:\.\w+)*\.(?=[A-Z])", "", text)
    text = re.sub(r"\b(?:typing|collections\.abc|numpy\.typing|_typing)\.", "", text)
    text = re.sub(r"\b_builtin_bool\b", "bool", text)
    if not is_bound:
        text = re.sub(r"\bself: [\w\[\], ]+?(?=[,)])", "self", text)
        text = re.sub(r"\(self(?:, /)?(?:, )?", "(", text)
        text = re.sub(r"\((?:cls|type)(?:, )", "(", text)
    return re.sub(r"<[\w. ]+ at 0x[0-9a-f]+>", "...", text)


def annotation(given: object) -> str:
    if isinstance(given, str):
        return given.strip("'\"")
    if isinstance(given, type) and not hasattr(given, "__args__"):
        return given.__name__
    return str(given)


def signature_of(thing: object, skipped: int = 0) -> str:
    """As Python shows it, with types that are written as texts without quotes, and without the
    first parameters."""
    signature = inspect.signature(thing)  # type: ignore[arg-type]
    parameters = []
    for one in list(signature.parameters.values())[skipped:]:
        if one.annotation is not inspect.Parameter.empty:
            one = one.replace(annotation=_Plain(annotation(one.annotation)))
        parameters.append(one)
    result = signature.return_annotation
    if result is not inspect.Signature.empty:
        result = _Plain(annotation(result))
    shown = str(signature.replace(parameters=parameters, return_annotation=result))
    return plain(shown, is_bound=skipped > 0)


class _Plain:
    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def takes_tensor_first(op: object) -> bool:
    """Whether an operator can be called as a method: its first argument is one tensor."""
    arguments = op._schema.arguments  # type: ignore[attr-defined]
    return bool(arguments) and str(arguments[0].type) in ("Tensor", "Tensor?")


def methods_of_operators(tensor: type) -> "list[dict[str, object]]":
    """Methods of Tensor that are not in its class: operators of aten, and functions on these.

    An operator has a signature an overload, without those that write to `out`.
    """
    import opyard

    found: list[dict[str, object]] = []
    for name in dir(opyard.zeros(1)):  # an instance lists them, its class does not
        if name.startswith("_") or any(name in vars(base) for base in tensor.__mro__):
            continue
        method = getattr(tensor, name)
        if inspect.isfunction(method):
            said = (method.__doc__ or "").partition("\n")[0]
            found.append({"name": name, "signatures": [signature_of(method)], "doc": said})
            continue
        given = []
        for overload in method.overloads():
            op = getattr(method, overload)
            if not takes_tensor_first(op):
                continue
            text = signature_of(op, skipped=1)
            if not re.search(r"\bout: [\w.]*Tensor", text):
                given.append(text)
        if given:
            found.append({"name": name, "signatures": given, "doc": ""})
    for one in found:
        one["signatures"] = [text.replace("opyard.", "") for text in one["signatures"]]  # type: ignore[attr-defined]
    return found


class Names:
    def __init__(self) -> None:
        self.stubs, self.stub_docs = read_stubs()

    def signatures(self, thing: object, name: str) -> "list[str]":
        """One, or one an overload; none if no one knows it."""
        in_python = self.is_in_python(thing)
        if name in self.stubs and not in_python:
            return self.stubs[name]
        try:
            return [signature_of(thing)]
        except (TypeError, ValueError):
            return self.stubs.get(name, [])

    @staticmethod
    def is_in_python(thing: object) -> bool:
        """Whether Python knows its signature: a stub of that name describes another object."""
        if inspect.isclass(thing):
            makers = (
                vars(base).get(name) for base in thing.__mro__ for name in ("__init__", "__new__")
            )
            return any(inspect.isfunction(getattr(maker, "__func__", maker)) for maker in makers)
        return inspect.isfunction(inspect.unwrap(getattr(thing, "__func__", thing)))

    def made_by(self, cls: type, name: str) -> "list[str]":
        """What a call of a class takes."""
        given = self.signatures(cls, name)
        if not self.is_in_python(cls):
            given = self.stubs.get(f"{name}.__init__") or self.stubs.get(f"{name}.__new__") or given
        return [re.sub(r"\) -> [^)]*$", ")", one) for one in given]

    def doc(self, thing: object, name: str) -> str:
        """Its own docstring; not that of its type or of a base."""
        if isinstance(thing, staticmethod | classmethod):
            thing = thing.__func__
        said = getattr(thing, "__doc__", None)
        if isinstance(said, str) and said != getattr(type(thing), "__doc__", None):
            said = inspect.cleandoc(said)
            # The signature that pybind11 or CPython's __text_signature__ put first; that of a
            # property has no name.
            first = r"\A(?:\w+\(|\((?:arg0|self): ).*\)(?: -> .*)?(?:\n+|\Z)(?:--\n+)?"
            said = re.sub(first, "", said)
            if said and not said.startswith(
                ("Initialize self", "partial(", "Enum where", "Create a collection")
            ):
                return said
        return self.stub_docs.get(name, "")

    def members(self, cls: type) -> "list[dict[str, object]]":
        found = []
        for name, thing in vars(cls).items():
            if name.startswith("_") and name not in ("__call__", "__enter__", "__getitem__"):
                continue
            if self.is_said_by_a_base(cls, name) or inspect.ismemberdescriptor(thing):
                continue
            kind = self.kind(thing)
            if isinstance(thing, staticmethod | classmethod):
                thing = getattr(cls, name)
            if kind in ("function", "property"):
                full = f"{cls.__name__}.{name}"
                given = self.signatures(thing, full)
                if kind == "property" and not (given and given[0].startswith(":")):
                    given = self.property_type(thing)
                found.append(
                    {
                        "name": name,
                        "kind": kind,
                        "signatures": given,
                        "doc": self.doc(thing, full) if not name.startswith("__") else "",
                    }
                )
        return [one for one in found if one["doc"] or not str(one["name"]).startswith("__")]

    @staticmethod
    def is_said_by_a_base(cls: type, name: str) -> bool:
        """Whether it says nothing of itself, and is explained where it is inherited from."""
        if getattr(vars(cls)[name], "__doc__", None):
            return False
        return any(getattr(vars(base).get(name), "__doc__", None) for base in cls.__mro__[1:])

    @staticmethod
    def property_type(thing: object) -> "list[str]":
        getter = getattr(thing, "fget", None)
        given = getattr(getter, "__annotations__", {}).get("return")
        return [plain(f": {annotation(given)}")] if given is not None else [""]

    @staticmethod
    def kind(thing: object) -> str:
        if inspect.ismodule(thing):
            return "module"
        if inspect.isclass(thing):
            return "class"
        if isinstance(thing, property) or inspect.isdatadescriptor(thing):
            return "property"
        if isinstance(thing, staticmethod | classmethod) or inspect.isroutine(thing):
            return "function"
        return "value"

    def module(self, name: str, module: object) -> "dict[str, object]":
        entries = []
        for public in public_names(module):
            if public == "__version__":
                continue
            try:
                thing = getattr(module, public)
            except ImportError:  # what needs NumPy, without NumPy
                continue
            kind = self.kind(thing)
            entry: dict[str, object] = {"name": public, "kind": kind}
            if kind == "value":
                entry |= {"type": type(thing).__name__, "value": repr(thing)[:60], "doc": ""}
                if callable(thing) and self.doc(thing, public):
                    entry |= {"kind": "function", "signatures": self.signatures(thing, public)}
                    entry["doc"] = self.doc(thing, public)
            elif kind == "module":
                entry["doc"] = (thing.__doc__ or "").partition("\n")[0]
                entry["of"] = f"{name}.{public}" if "._" in thing.__name__ else thing.__name__
            else:
                entry |= {
                    "doc": self.doc(thing, public),
                    "signatures": self.signatures(thing, public),
                }
                if kind == "class":
                    entry["bases"] = [
                        base.__name__
                        for base in thing.__bases__
                        if base is not object and base.__module__ != "pybind11_builtins"
                    ]
                    entry["members"] = self.members(thing)
                    entry["signatures"] = self.made_by(thing, public)
                    if name == "opyard" and public == "Tensor":
                        entry["operators"] = methods_of_operators(thing)
            entries.append(entry)
        return {"name": name, "doc": inspect.cleandoc(module.__doc__ or ""), "names": entries}


def main() -> None:
    names = Names()
    found = [names.module(name, module) for name, module in modules().items()]
    assert "torch" not in sys.modules, "the reference is made without importing PyTorch"
    json.dump(found, sys.stdout, indent=1)


if __name__ == "__main__":
    main()
