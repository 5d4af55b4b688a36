"""registry_model.py: a reference model of the tables that the registry publishes.

A second account of the rules of B10, B21, B22, B26 and B28, which knows nothing of Opyard but the
names and positions of the keys. It is slow and plain: from the registrations in force, in their
order, it says for every runtime key which one serves it and why, which layers the operator's mask
leaves in, and where a call goes.

    model = Registry("ns::f", "ns::f() -> str")
    model.implement("lib", "CompositeImplicitAutograd", "math")
    model.serving()["AutogradCPU"]        # Served("math", "math kernel", False)
    model.runs(bits_of("CPU"))            # "math"
    model.remove("lib")

Every kernel has a label, which is the file name that its registration seems to come from. What
must be refused raises Refused and changes nothing.
"""

import sys
from dataclasses import dataclass
from functools import lru_cache

BACKENDS = (
    "CPU", "CUDA", "XLA", "Meta", "Lazy", "PrivateUse1", "PrivateUse2", "PrivateUse3",
    *(f"UserBackend{n}" for n in range(1, 9)),
)  # fmt: skip
# Position in the order of priority, and what the keys of a layer are called on each backend.
PER_BACKEND = {
    "Dense": (0, ""),
    "Quantized": (1, "Quantized"),
    "Sparse": (2, "Sparse"),
    "NestedTensor": (3, "NestedTensor"),
    "AutogradFunctionality": (22, "Autograd"),
}
SINGLE = {
    "BackendSelect": 6, "AboveBackendSelect1": 7, "AboveBackendSelect2": 8, "Python": 10,
    "ADInplaceOrView": 17, "AboveADInplaceOrView1": 18, "AboveADInplaceOrView2": 19,
    "AutogradOther": 21, "AutogradNestedTensor": 23, "AboveAutograd1": 24, "AboveAutograd2": 25,
    "Tracer": 27, "AutocastCPU": 29, "AutocastCUDA": 30, "Batched": 32, "PythonTLSSnapshot": 38,
    "OnTop1": 40, "OnTop2": 41, "PythonDispatcher": 44, "Observe": 46,
}  # fmt: skip
ALIASES = (
    "Autograd",
    "CompositeImplicitAutograd",
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutograd",
    "CompositeExplicitAutogradNonFunctional",
    "BatchedDecomposition",
)


def on_backends(*prefixes, less=()):
    return frozenset(p + b for p in prefixes for b in BACKENDS if b not in less)


# By priority, Undefined first: each key that has a slot.
_BY_POSITION = sorted(
    [(position, 0, name) for name, position in SINGLE.items()]
    + [
        (position, place, prefix + backend)
        for position, prefix in PER_BACKEND.values()
        for place, backend in enumerate(BACKENDS)
    ]
)
RUNTIME_KEYS = ("Undefined", *(name for _, _, name in _BY_POSITION))
# The order in which registered kernels are listed.
LISTED = (
    *sorted(SINGLE, key=SINGLE.__getitem__),
    *(prefix + backend for _, prefix in PER_BACKEND.values() for backend in BACKENDS),
    *ALIASES,
)

_BACKEND_KEYS = on_backends("", "Quantized", "Sparse")
_AUTOGRAD_KEYS = on_backends("Autograd") | {"AutogradOther", "AutogradNestedTensor"}
SERVED_BY = {
    "Autograd": _AUTOGRAD_KEYS,
    "CompositeImplicitAutograd": _BACKEND_KEYS | _AUTOGRAD_KEYS | {"Undefined"},
    "CompositeImplicitAutogradNestedTensor": on_backends("NestedTensor") | {"AutogradNestedTensor"},
    "CompositeExplicitAutograd": _BACKEND_KEYS | {"Undefined"},
    "CompositeExplicitAutogradNonFunctional": on_backends("", "Quantized", less=("XLA", "Lazy"))
    | {"Undefined"},
    "BatchedDecomposition": {"Batched"},
}
# The backend keys whose calls an autograd key sees first.
BELOW_AUTOGRAD = {
    "AutogradOther": on_backends("Quantized", "Sparse"),
    "AutogradNestedTensor": on_backends("NestedTensor"),
    **{"Autograd" + backend: {backend} for backend in BACKENDS},
}
# Layers where Opyard itself asks others, who may not be there, or takes a note: then the call goes
# on below.
_ASKING = {"Python", "PythonDispatcher", "PythonTLSSnapshot", "Observe"}
# Layers that pass every call on if nothing is registered there.
_TRANSPARENT = _AUTOGRAD_KEYS | (set(SINGLE) - _ASKING - {"Batched"})


def layer_position(key):
    if key in SINGLE:
        return SINGLE[key]
    for position, prefix in PER_BACKEND.values():
        if key.startswith(prefix) and key[len(prefix) :] in BACKENDS:
            return position
    raise KeyError(key)


def bits_of(*keys):
    """A key set as 64 bits: 16 backends, then 48 layers."""
    bits = 0
    for key in keys:
        bits |= 1 << 16 + layer_position(key)
        if key not in SINGLE:
            prefix = next(p for at, p in PER_BACKEND.values() if at == layer_position(key))
            bits |= 1 << BACKENDS.index(key[len(prefix) :])
    return bits


def key_of_call(bits):
    """The key whose slot a call with these bits reads."""
    layers, backends = bits >> 16, bits & 0xFFFF
    if layers == 0:
        return "Undefined"
    top = layers.bit_length() - 1
    for position, prefix in PER_BACKEND.values():
        if position == top:
            return prefix + BACKENDS[backends.bit_length() - 1] if backends else "Undefined"
    return next(name for name, position in SINGLE.items() if position == top)


class Refused(Exception):
    """What the registry must refuse."""


@dataclass(frozen=True)
class Standing:
    """One registration. `key` is None for the definition; `library` None for what is built in."""

    library: str
    key: "str | None"
    label: str
    falls_through: bool = False
    is_fallback: bool = False


@dataclass(frozen=True)
class Served:
    """What is at a runtime key, and by which rule."""

    label: str
    rule: str
    falls_through: bool = False


NOBODY = Served("", "missing")
AMBIGUOUS = Served("ambiguous_autogradother", "ambiguous autogradother")


def rule_of(key, active, fallbacks):
    """The rules of B26, one after the other. `active` is the newest kernel of each key."""

    def composite(alias):
        return active.get(alias) if key in SERVED_BY[alias] else None

    def served(standing, rule):
        return Served(standing.label, rule, standing.falls_through)

    if key in active:
        return served(active[key], "kernel")
    for alias in ("CompositeExplicitAutogradNonFunctional", "CompositeExplicitAutograd"):
        if composite(alias):
            return served(composite(alias), "default backend kernel")
    backend_has_its_own = any(below in active for below in BELOW_AUTOGRAD.get(key, ()))
    if composite("CompositeImplicitAutogradNestedTensor") and not backend_has_its_own:
        return served(composite("CompositeImplicitAutogradNestedTensor"), "nested kernel")
    if composite("CompositeImplicitAutograd"):
        if key == "AutogradOther" and backend_has_its_own:
            return AMBIGUOUS
        if not backend_has_its_own and "CompositeExplicitAutograd" not in active:
            return served(composite("CompositeImplicitAutograd"), "math kernel")
    if composite("Autograd"):
        return served(composite("Autograd"), "autograd kernel")
    if composite("BatchedDecomposition"):
        return served(composite("BatchedDecomposition"), "batched kernel")
    if key in fallbacks:
        return served(fallbacks[key], "backend fallback")
    if key in _TRANSPARENT:
        return Served("built in", "backend fallback", True)
    if key in _ASKING:
        return Served("built in", "backend fallback")
    return NOBODY


@lru_cache(maxsize=4096)
def serving(standing):
    """What serves each runtime key, for these registrations in this order."""
    active = {s.key: s for s in standing if s.key and not s.is_fallback}  # the last one stays
    fallbacks = {s.key: s for s in standing if s.is_fallback}
    table = {}
    for key in RUNTIME_KEYS:
        table[key] = rule_of(key, active, fallbacks)
    if table["Undefined"].falls_through:
        table["Undefined"] = NOBODY  # there is nothing below
    return table


@lru_cache(maxsize=4096)
def mask(standing):
    """The bits that calls of the operator keep: layers that fall through everywhere are out."""
    bits = 0xFFFF
    for key, served in serving(standing).items():
        if key == "Undefined":
            continue
        # Once the tape is armed, in a process that has asked for one, calls stop there.
        taped = "opyard._gradients" in sys.modules and key in _AUTOGRAD_KEYS
        if not served.falls_through or (taped and served.label == "built in"):
            bits |= 1 << 16 + layer_position(key)
    return bits


@lru_cache(maxsize=1 << 16)
def runs(standing, bits):
    """The label of the kernel that a call with these keys ends in; "missing", "ambiguous"."""
    bits &= mask(standing)
    while True:
        served = serving(standing)[key_of_call(bits)]
        if not served.falls_through and served.label != "built in":
            return {NOBODY: "missing", AMBIGUOUS: "ambiguous"}.get(served, served.label)
        layers = bits >> 16
        bits = (layers & ~(1 << layers.bit_length() - 1)) << 16 | bits & 0xFFFF


@lru_cache(maxsize=4096)
def dump_table(standing):
    """The published table in words, as B39 has it."""
    if not any(not s.is_fallback for s in standing):
        return ""
    text = ""
    for key, served in serving(standing).items():
        if served == NOBODY:
            continue
        place = served.label
        if place != "built in" and served != AMBIGUOUS:
            place = f"registered at {place}:1"
        text += f"{key}: {'fallthrough ' * served.falls_through}{place} [{served.rule}]\n"
    return text


@lru_cache(maxsize=4096)
def dump(name, schema, standing):
    """The registrations in words, as B38 has it."""
    standing = [s for s in standing if not s.is_fallback]
    if not standing:
        return ""
    text = f"name: {name}\n"
    definition = [s for s in standing if s.key is None]
    if definition:
        text += f"schema: {schema}\ndebug: registered at {definition[0].label}:1\n"
        text += "alias analysis kind: FROM_SCHEMA\n"
    else:
        text += "schema: (none)\n"
    for key in LISTED:
        newest_first = [s for s in standing if s.key == key][::-1]
        for s in newest_first:
            alias = "[alias]" if key in ALIASES else ""
            inactive = "" if s is newest_first[0] else " (inactive)"
            flags = "fallthrough boxed" if s.falls_through else "boxed"
            text += f"{key}{alias}{inactive}: registered at {s.label}:1 :: (none) [ {flags} ]\n"
    return text


class Registry:
    """The registrations of one operator and the fallbacks, as they come and go."""

    def __init__(self, name, schema):
        self.name, self.schema = name, schema
        self.standing = ()

    def define(self, library, label):
        if self.is_defined():
            raise Refused("defined already")
        self.standing += (Standing(library, None, label),)

    def implement(self, library, key, label, falls_through=False):
        if key == "Undefined":
            key = "CompositeImplicitAutograd"
        if key not in LISTED:
            raise Refused("no place for a kernel")
        own = [
            s for s in self.standing if (s.library, s.key) == (library, key) and not s.is_fallback
        ]
        self.standing = tuple(s for s in self.standing if s not in own)
        self.standing += (Standing(library, key, label, falls_through),)

    def fall_back(self, library, key, label, falls_through=False):
        if key not in RUNTIME_KEYS or key == "Undefined":
            raise Refused("no place for a fallback")
        if any(s.is_fallback and s.key == key for s in self.standing):
            raise Refused("the key has a fallback")
        self.standing += (Standing(library, key, label, falls_through, True),)

    def remove(self, library):
        self.standing = tuple(s for s in self.standing if s.library != library)

    def is_defined(self):
        return any(s.key is None for s in self.standing)

    def dump(self):
        return dump(self.name, self.schema, self.standing)

    def dump_table(self):
        return dump_table(self.standing)

    def serving(self):
        return serving(self.standing)

    def mask(self):
        return mask(self.standing)

    def runs(self, bits):
        return runs(self.standing, bits)
