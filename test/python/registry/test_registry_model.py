"""test_registry_model.py: the registry publishes what its registrations say, however they came.

registry_model.py works the tables out a second time, from the rules. Here the same registrations
are made in both, in every order, and after each step all that can be seen is compared: both dumps,
the operator's mask, and which kernel really runs for every kind of key set.

Suspect entry.cpp (the rules), registry.cpp (making and taking back); the model last.
"""

import itertools
from types import SimpleNamespace

import pytest
import registry_model
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import volume
from registry_model import PER_BACKEND, RUNTIME_KEYS, SINGLE, Refused, bits_of

import opyard
from opyard import _C
from opyard.dispatch import DispatchKey, DispatchKeySet, check_invariants, dump, dump_table
from opyard.library import Library, fallthrough_kernel

pytestmark = pytest.mark.once

NO_KEYS = DispatchKeySet()


def keys_of_calls():
    """Key sets by their bits: each key alone, and layers above backends as calls have them."""
    sets = {bits_of(key) for key in RUNTIME_KEYS if key not in ("Undefined", "Observe")} | {0}
    for backend in ("CPU", "XLA", "Meta"):
        autograd = bits_of(backend, "Autograd" + backend)
        sets |= {
            autograd,
            autograd | bits_of("ADInplaceOrView", "BackendSelect", "Tracer"),
            autograd | bits_of("Batched", "PythonDispatcher"),
            bits_of("Quantized" + backend, "AutogradOther"),
            bits_of("Sparse" + backend, "AutogradOther", "Tracer"),
            bits_of("NestedTensor" + backend, "AutogradNestedTensor"),
        }
    # Layers of backends with no backend, backends with no layer.
    sets |= {1 << 16 + position for position, _ in PER_BACKEND.values()} | {1, 0xFFFF}
    return {bits: DispatchKeySet.from_raw_repr(bits) for bits in sorted(sets)}


CALLS = keys_of_calls()


def compiled(text, label):
    """Code whose registrations seem to be in a file called `label`."""
    return compile(text, label, "eval")


class Subject:
    """One operator, in Opyard and in the model at once."""

    def __init__(self, ns):
        self.ns, self.name, self.schema = ns, f"{ns}::f", f"{ns}::f() -> str"
        self.libraries = {}
        self.model = registry_model.Registry(self.name, self.schema)
        self.op = None

    def library(self, owner):
        if owner not in self.libraries:
            self.libraries[owner] = [Library(self.ns, "FRAGMENT")]
        return self.libraries[owner]

    def define(self, owner, label="definition"):
        library = self.library(owner)[0]
        self.model.define(owner, label)
        eval(compiled("lib.define(schema)", label), {"lib": library, "schema": self.schema})
        if self.op is None:
            self.op = getattr(opyard.ops, self.ns).f.default

    def implement(self, owner, key, label, falls_through=False):
        library = self.library(owner)[0]
        self.model.implement(owner, key, label, falls_through)
        fn = fallthrough_kernel if falls_through else lambda: label
        code = compiled("lib.impl('f', fn, key, allow_override=True)", label)
        eval(code, {"lib": library, "fn": fn, "key": key})

    def fall_back(self, owner, key, label, falls_through=False):
        libraries = self.library(owner)
        self.model.fall_back(owner, key, label, falls_through)
        library = Library("_", "IMPL", key)
        fn = fallthrough_kernel if falls_through else lambda op: label
        eval(compiled("lib.fallback(fn)", label), {"lib": library, "fn": fn})
        libraries.append(library)

    def remove(self, owner):
        self.model.remove(owner)
        for library in self.libraries.pop(owner, ()):
            library._undo()

    def close(self):
        for owner in list(self.libraries):
            self.remove(owner)

    def runs(self, keys):
        """The label of the kernel that a call with exactly these keys ends in."""
        former = _C.local_keys()
        _C.set_local_keys(keys, NO_KEYS)
        try:
            return self.op()
        except NotImplementedError as error:
            return "ambiguous" if "shares AutogradOther" in str(error) else "missing"
        finally:
            _C.set_local_keys(*former)

    def published(self, calls):
        """All that can be seen of the operator, in the words of the model."""
        seen = [dump(self.name), dump_table(self.name, whole=True)]
        if self.model.is_defined():
            seen.append(self.op._explain()["mask"].raw_repr())
            seen += [self.runs(CALLS[bits]) for bits in calls]
        return seen

    def expected(self, calls):
        model = self.model
        wanted = [model.dump(), model.dump_table()]
        if model.is_defined():
            wanted.append(model.mask())
            wanted += [model.runs(bits) for bits in calls]
        return wanted

    def check(self, calls, history=""):
        published, expected = self.published(calls), self.expected(calls)
        if published == expected:
            return
        for bits, ran, wanted in zip(calls, published[3:], expected[3:], strict=True):
            assert ran == wanted, f"{CALLS[bits]} ran {ran!r}, not {wanted!r}; {history}"
        for one, other in zip(published, expected, strict=True):
            assert one == other, history


@pytest.fixture
def subject(ns):
    made = Subject(ns)
    yield made
    made.close()
    check_invariants()


# Chosen sets, in every order --------------------------------------------------------------


def definition():
    return SimpleNamespace(label="definition", make=lambda s: s.define("definition"))


def kernel(key, label=None, falls_through=False):
    label = label or key.lower()
    return SimpleNamespace(
        label=label, make=lambda s: s.implement(label, key, label, falls_through)
    )


def passing(key):
    return kernel(key, f"passing-{key.lower()}", True)


def fallback(key, falls_through=False):
    label = f"fallback-{key.lower()}"
    return SimpleNamespace(
        label=label, make=lambda s: s.fall_back(label, key, label, falls_through)
    )


IMPLICIT, EXPLICIT = "CompositeImplicitAutograd", "CompositeExplicitAutograd"
NESTED, FUNCTIONAL = (
    "CompositeImplicitAutogradNestedTensor",
    "CompositeExplicitAutogradNonFunctional",
)
SETS = {
    "math_and_sparse": [
        definition(), kernel(IMPLICIT), kernel("SparseCPU"), kernel("AutogradOther"),
        kernel("CPU"),
    ],
    "math_and_quantized": [
        definition(), kernel(IMPLICIT), kernel("QuantizedCPU"), fallback("AutogradOther"),
    ],
    "both_composites_under_autograd": [
        definition(), kernel(IMPLICIT), kernel(EXPLICIT), kernel("Autograd"),
        kernel("AutogradCPU"),
    ],
    "all_composites": [definition(), kernel(IMPLICIT), kernel(EXPLICIT), kernel(FUNCTIONAL)],
    "nested": [
        definition(), kernel(NESTED), kernel(IMPLICIT), kernel("NestedTensorCPU"),
        kernel("AutogradNestedTensor"),
    ],
    "nested_over_explicit": [
        definition(), kernel(NESTED), kernel(EXPLICIT), fallback("NestedTensorCPU"),
    ],
    "passing_on_one_backend": [
        definition(), passing("AutogradCPU"), kernel("Autograd"), kernel("CPU"),
    ],
    "passing_layer": [definition(), passing("Tracer"), fallback("Tracer"), kernel("Tracer", "t")],
    "passing_composite": [definition(), passing(EXPLICIT), kernel(IMPLICIT), kernel("CPU")],
    "passing_autograd": [definition(), passing("Autograd"), kernel("SparseCUDA"), kernel(IMPLICIT)],
    "passing_over_a_kernel": [
        definition(), kernel("CPU", "a"), kernel("CPU", "b", True), kernel(IMPLICIT),
    ],
    "two_libraries": [definition(), kernel("CPU", "a"), kernel("CPU", "b"), kernel(IMPLICIT)],
    "three_libraries_at_an_alias": [
        definition(), kernel(IMPLICIT, "a"), kernel(IMPLICIT, "b"), kernel(IMPLICIT, "c"),
        kernel("SparseMeta"),
    ],
    "autograd_alias_twice": [
        definition(), kernel("Autograd", "a"), kernel("Autograd", "b"), kernel("AutogradXLA"),
    ],
    "fallback_and_kernel": [definition(), fallback("CPU"), kernel("CPU"), kernel(EXPLICIT)],
    "fallbacks": [
        definition(), fallback("CPU"), fallback("AutogradXLA", True), kernel("Autograd"),
        passing("XLA"),
    ],
    "batched": [
        definition(), kernel("BatchedDecomposition"), fallback("Batched"), kernel("Batched"),
    ],
    "never_defined": [kernel("CPU"), kernel(IMPLICIT), kernel("Autograd"), kernel("CPU", "b")],
}  # fmt: skip


def telling_calls(model_of_subset):
    """Calls that tell all states apart: two of each kind that the model never tells apart."""
    kinds = {}
    for bits in CALLS:
        kinds.setdefault(tuple(model.runs(bits) for model in model_of_subset), []).append(bits)
    return sorted({bits for kind in kinds.values() for bits in (kind[0], kind[-1])})


def models_of_all_subsets(subject, parts):
    models = []
    for size in range(len(parts) + 1):
        for subset in itertools.combinations(parts, size):
            target = SimpleNamespace(model=registry_model.Registry(subject.name, subject.schema))
            target.define = lambda owner, m=target.model: m.define(owner, "definition")
            target.implement = target.model.implement
            target.fall_back = target.model.fall_back
            for part in subset:
                part.make(target)
            models.append(target.model)
    return models


def orders(parts):
    """(making, taking back): all pairs up to four parts; above, every order with two others, or six
    if more is asked for."""
    all_orders = list(itertools.permutations(parts))
    if len(parts) <= 4:
        return itertools.product(all_orders, all_orders)
    count = len(all_orders)
    return (
        (making, all_orders[(7 * at + shift) % count])
        for at, making in enumerate(all_orders)
        for shift in (0, 63, 17, 40, 86, 109)[: volume(2)]
    )


@pytest.mark.parametrize("name", SETS)
def test_B10_B21_B22_B26_B27_every_order_of_making_and_taking_back(subject, name):
    parts = SETS[name]
    calls = telling_calls(models_of_all_subsets(subject, parts))
    assert len(calls) > 1
    made_before = None
    for making, taking in orders(parts):
        for part in making:
            part.make(subject)
            if making != made_before:
                subject.check(calls, f"made {[p.label for p in making]}, up to {part.label}")
        if making != made_before:
            check_invariants()
        made_before = making
        for part in taking:
            subject.remove(part.label)
            subject.check(
                calls,
                f"made {[p.label for p in making]}, unregistered {[p.label for p in taking]}, "
                f"up to {part.label}",
            )
        assert subject.model.standing == ()


def test_there_are_enough_sets():
    assert len(SETS) >= 12
    assert sum(len(parts) == 5 for parts in SETS.values()) >= 4
    assert max(len(parts) for parts in SETS.values()) == 5


def test_the_model_knows_every_key():
    known = {*RUNTIME_KEYS, *registry_model.ALIASES, *PER_BACKEND}
    assert known == {name for name, _ in _C.dispatch_keys()}
    assert {int(DispatchKey[key]) - 1 for key in SINGLE} == set(SINGLE.values())


# Longer histories -------------------------------------------------------------------------

LIBRARIES = st.sampled_from("abc")
KEYS = st.sampled_from([
    "Undefined", IMPLICIT, EXPLICIT, FUNCTIONAL, NESTED, "Autograd", "BatchedDecomposition",
    "CPU", "XLA", "Meta", "QuantizedCPU", "SparseCPU", "SparseXLA", "NestedTensorCPU",
    "AutogradCPU", "AutogradXLA", "AutogradOther", "AutogradNestedTensor",
    "BackendSelect", "ADInplaceOrView", "Tracer", "Batched", "Python", "PythonDispatcher",
])  # fmt: skip
# Where neither a kernel nor a fallback can be, too.
ANY_KEYS = st.one_of(KEYS, st.sampled_from(["Dense", "AutogradFunctionality", "Sparse"]))
FALLS = st.sampled_from([False, False, False, True])
STEPS = st.one_of(
    st.tuples(st.just("define"), LIBRARIES),
    st.tuples(st.just("implement"), LIBRARIES, KEYS, FALLS),
    st.tuples(st.just("implement"), LIBRARIES, KEYS, FALLS),
    st.tuples(st.just("implement"), LIBRARIES, ANY_KEYS, FALLS),
    st.tuples(st.just("fall_back"), LIBRARIES, ANY_KEYS, FALLS),
    st.tuples(st.just("remove"), LIBRARIES),
)


def take_step(subject, number, step):
    """Makes one step; if the model refuses it, so must the registry."""
    what, owner, *rest = step
    if what == "remove":
        return subject.remove(owner)
    label = f"{owner}{number}"
    arguments = (label,) if what == "define" else (rest[0], label, rest[1])
    try:
        getattr(subject, what)(owner, *arguments)
    except Refused:
        before = everything()
        with pytest.raises((RuntimeError, LookupError)):
            refused_by_the_registry(subject, what, owner, *rest)
        assert everything() == before
    return None


def refused_by_the_registry(subject, what, owner, key=None, falls_through=False):
    library = subject.library(owner)[0]
    fn = fallthrough_kernel if falls_through else lambda *args: "refused"
    if what == "define":
        library.define(subject.schema)
    elif what == "implement":
        library.impl("f", fn, key)
    else:
        Library("_", "IMPL", key).fallback(fn)


def everything():
    """The dumps of all operators of this file, and of what is defined besides."""
    from opyard import _bind

    names = [name for name in _bind.operator_names() if not name.startswith("aten::")]
    return [(name, dump(name), dump_table(name)) for name in names]


HISTORY_NS = "registry_model_histories"


@settings(max_examples=volume(75), deadline=None, derandomize=True, database=None)
@given(st.lists(STEPS, min_size=6, max_size=40))
def test_B10_B14_B21_B22_B26_B27_any_history_leads_to_the_table_of_what_stands(steps):
    subject = Subject(HISTORY_NS)
    try:
        subject.define("definer", "definer")
        for number, step in enumerate([("remove", "definer"), *steps]):
            take_step(subject, number, step)
            subject.check(CALLS, f"after step {number} of {steps}")
        check_invariants()
    finally:
        subject.close()
    assert dump(subject.name) == dump_table(subject.name) == ""


# Refusals ---------------------------------------------------------------------------------

REFUSED = {
    "a second definition": lambda s: s.lib.define("f() -> str"),
    "a second definition with another schema": lambda s: s.lib.define("f(int x) -> str"),
    "a schema that does not parse": lambda s: s.lib.define("g(Tensor x -> str"),
    "a definition in another namespace": lambda s: s.lib.define("other::g() -> str"),
    "a definition in an IMPL library": lambda s: s.impl.define("g() -> str"),
    "a kernel at a layer of many keys": lambda s: s.lib.impl("f", print, "Dense"),
    "a kernel at no key": lambda s: s.lib.impl("f", print, "Nope"),
    "a kernel at a key that the library has not": lambda s: s.impl.impl("f", print, "CPU"),
    "a kernel of another namespace": lambda s: s.lib.impl("other::f", print, "CPU"),
    "a kernel for a name that is none": lambda s: s.lib.impl("f g", print, "CPU"),
    "a kernel that is no function": lambda s: s.lib.impl("f", 3, "CPU"),
    "a second fallback": lambda s: Library("_", "IMPL", "Meta").fallback(print),
    "a fallback at an alias": lambda s: Library("_", "IMPL", "Autograd").fallback(print),
    "a fallback of one namespace": lambda s: s.impl.fallback(print),
    "a second definer of the namespace": lambda s: Library(s.ns, "DEF"),
    "a definer with a key": lambda s: Library(s.ns, "FRAGMENT", "CPU"),
    "an override whose warning is an error": lambda s: s.other.impl("f", print, "CPU"),
}


@pytest.mark.filterwarnings("error:Overriding")
@pytest.mark.parametrize("what", REFUSED)
def test_B14_what_is_refused_changes_nothing(subject, what, collect):
    collect()  # libraries of earlier tests, which frames of exceptions may hold until then
    subject.define("definition")
    subject.implement("cpu", "CPU", "cpu")
    subject.implement("math", IMPLICIT, "math")
    subject.fall_back("fallback", "Meta", "fallback")
    libraries = SimpleNamespace(
        ns=subject.ns,
        holder=Library(subject.ns, "DEF"),
        lib=Library(subject.ns, "FRAGMENT"),
        impl=Library(subject.ns, "IMPL", "CUDA"),
        other=Library(subject.ns, "FRAGMENT"),
    )
    before = everything()
    for _ in range(2):
        with pytest.raises((RuntimeError, ValueError, LookupError, TypeError, UserWarning)):
            REFUSED[what](libraries)
        assert everything() == before
        subject.check(CALLS)
        check_invariants()
    for library in (libraries.holder, libraries.lib, libraries.impl, libraries.other):
        library._destroy()
    assert everything() == before
