"""A compiled function that stores what it computed: each call stores its own (H47).

Each case gives a function of a Tensor that stores one, and a way to see what is stored. A compiled
function may become a graph only if no call leaves anything behind.

Suspect opyard/_jit/compiled.py (_State), opyard/_jit/surroundings.py for modules,
autograd/python/gradients/call_keys.cpp for what is looked at.
"""

import collections
import contextvars
import sys
import types
import warnings

import pytest

import opyard
from opyard import jit, nn

CASES = {}
KEPT = None
SPACE = {}

place = types.ModuleType("compile_place")
sys.modules["compile_place"] = place


def case(build):
    CASES[build.__name__] = build
    return build


class Held:
    pass


def held(**attributes):
    made = Held()
    vars(made).update(attributes)
    return made


# ---- attributes


@case
def an_attribute():
    o = held(kept=None)

    def function(x):
        o.kept = x * 3
        return x + 1

    return function, lambda: o.kept


@case
def an_attribute_that_is_the_result():
    o = held(kept=None)

    def function(x):
        o.kept = x * 3
        return o.kept

    return function, lambda: o.kept


@case
def an_attribute_of_a_module_in_forward():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.last = None

        def forward(self, x):
            self.last = x * 3
            return x + 1

    net = Net()
    return net, lambda: net.last


@case
def a_buffer_of_a_module():
    class Net(nn.Module):
        def __init__(self):
            super().__init__()
            self.register_buffer("last", opyard.tensor([0.0, 0.0]))

        def forward(self, x):
            self.last = x * 3
            return x + 1

    net = Net()
    return net, lambda: net.last


@case
def an_attribute_by_setattr():
    o = held(kept=None)

    def function(x):
        setattr(o, "".join(("ke", "pt")), x * 3)
        return x + 1

    return function, lambda: o.kept


@case
def an_attribute_by_the_dictionary_of_the_object():
    o = held(kept=None)

    def function(x):
        o.__dict__["kept"] = x * 3
        return x + 1

    return function, lambda: o.kept


@case
def an_attribute_of_an_argument():
    class Net(nn.Module):
        def forward(self, x):
            return x

    net = Net()
    net.kept = None

    def inner(module, x):
        module.kept = x * 3
        return x + 1

    compiled = jit.compile(inner)
    return (lambda x: compiled(net, x)), lambda: net.kept, compiled


@case
def a_slot():
    class Slotted:
        __slots__ = ("kept",)

    o = Slotted()
    o.kept = None

    def function(x):
        o.kept = x * 3
        return x + 1

    return function, lambda: o.kept


@case
def an_attribute_of_a_class():
    class Owner:
        kept = None

    def function(x):
        Owner.kept = x * 3
        return x + 1

    return function, lambda: Owner.kept


@case
def an_attribute_of_a_function():
    def function(x):
        function.kept = x * 3
        return x + 1

    function.kept = None
    return function, lambda: function.kept


@case
def an_attribute_of_a_tensor():
    w = opyard.tensor([1.0, 1.0])
    w.kept = None

    def function(x):
        w.kept = x * 3
        return x + w

    return function, lambda: w.kept


@case
def the_gradient_of_a_tensor():
    w = opyard.tensor([1.0, 1.0])

    def function(x):
        w.grad = x * 3
        return x + w

    return function, lambda: w.grad


@case
def the_gradient_of_an_argument():
    seen = []

    def function(x):
        x.grad = x * 3
        return x + 1

    return function, lambda: seen[-1].grad, seen


@case
def a_context_variable():
    held = contextvars.ContextVar("held", default=None)

    def function(x):
        held.set(x * 3)
        return x + 1

    return function, held.get


# ---- containers


@case
def an_item_of_a_dict():
    d = {"kept": None}

    def function(x):
        d["kept"] = x * 3
        return x + 1

    return function, lambda: d["kept"]


@case
def an_item_of_a_dict_by_update():
    d = {"kept": None}

    def function(x):
        d.update(kept=x * 3)
        return x + 1

    return function, lambda: d["kept"]


@case
def an_item_of_an_ordered_dict():
    d = collections.OrderedDict(kept=None)

    def function(x):
        d["kept"] = x * 3
        return x + 1

    return function, lambda: d["kept"]


@case
def an_item_of_a_list():
    items = [None]

    def function(x):
        items[0] = x * 3
        return x + 1

    return function, lambda: items[0]


@case
def a_slice_of_a_list():
    items = [None]

    def function(x):
        items[:] = [x * 3]
        return x + 1

    return function, lambda: items[0]


@case
def an_item_that_takes_the_place_of_another():
    items = [None]

    def function(x):
        items.append(x * 3)
        items.pop(0)
        return x + 1

    return function, lambda: items[0]


@case
def a_set():
    items = set()

    def function(x):
        items.clear()
        items.add(x * 3)
        return x + 1

    return function, lambda: next(iter(items))


@case
def nested():
    o = held(inner=held(items=[{"kept": None}]))

    def function(x):
        o.inner.items[0]["kept"] = x * 3
        return x + 1

    return function, lambda: o.inner.items[0]["kept"]


@case
def in_a_tuple():
    o = held(pair=None)

    def function(x):
        o.pair = (x * 3, 1)
        return x + 1

    return function, lambda: o.pair[0]


@case
def in_a_new_object():
    o = held(state=None)

    def function(x):
        o.state = held(kept=x * 3)
        return x + 1

    return function, lambda: o.state.kept


@case
def in_a_result_that_is_kept():
    o = held(pair=None)

    def function(x):
        o.pair = (x * 3, x + 1)
        return o.pair

    return function, lambda: o.pair[0]


@case
def a_container_among_the_arguments():
    items = [None]

    def inner(container, x):
        container[0] = x * 3
        return x + 1

    compiled = jit.compile(inner)
    return (lambda x: compiled(items, x)), lambda: items[0], compiled


@case
def two_places_that_are_exchanged():
    o = held(kept=opyard.tensor([0.0, 0.0]), other=opyard.tensor([0.0, 0.0]))

    def function(x):
        o.other = o.kept
        o.kept = x * 3
        return x + 1

    return function, lambda: o.kept


# ---- names


@case
def a_global_name():
    def function(x):
        global KEPT
        KEPT = x * 3
        return x + 1

    return function, lambda: KEPT


@case
def a_name_of_a_closure():
    kept = None

    def function(x):
        nonlocal kept
        kept = x * 3
        return x + 1

    return function, lambda: kept


@case
def the_cell_of_a_closure():
    kept = None

    def function(x):
        (lambda: kept).__closure__[0].cell_contents = x * 3
        return x + 1

    return function, lambda: kept


@case
def a_default():
    def function(x, items=[None]):  # noqa: B006
        items[0] = x * 3
        return x + 1

    return function, lambda: function.__defaults__[0][0]


@case
def an_item_of_a_global_dict():
    def function(x):
        SPACE["kept"] = x * 3
        return x + 1

    return function, lambda: SPACE["kept"]


# ---- Python modules


@case
def an_attribute_of_a_python_module():
    def function(x):
        place.kept = x * 3
        return x + 1

    return function, lambda: place.kept


@case
def an_attribute_of_a_python_module_that_is_read():
    place.total = opyard.tensor([0.0, 0.0])

    def function(x):
        place.total = x * 3
        return place.total + 1

    return function, lambda: place.total


@case
def an_attribute_of_a_python_module_by_setattr():
    def function(x):
        setattr(place, "".join(("by", "_setattr")), x * 3)
        return x + 1

    return function, lambda: place.by_setattr


@case
def an_attribute_of_a_python_module_that_a_function_is_given():
    def put(module, value):
        module.given = value

    def function(x):
        put(place, x * 3)
        return x + 1

    return function, lambda: place.given


@case
def an_attribute_of_a_python_module_that_is_imported_inside():
    def function(x):
        import compile_place

        compile_place.inside = x * 3
        return x + 1

    return function, lambda: place.inside


@case
def the_dictionary_of_a_python_module():
    def function(x):
        vars(place)["by_vars"] = x * 3
        return x + 1

    return function, lambda: place.by_vars


@case
def a_name_of_the_own_module_by_sys():
    def function(x):
        sys.modules[__name__].KEPT_BY_SYS = x * 3
        return x + 1

    return function, lambda: sys.modules[__name__].KEPT_BY_SYS


@case
def a_number_in_a_python_module():
    place.size = 0

    def function(x):
        place.size = x * 3
        return x + len(x)

    return function, lambda: place.size


@pytest.mark.parametrize("gradients", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_H47_each_call_stores_its_own(name, gradients):
    function, look, *more = CASES[name]()
    seen = more[0] if more and isinstance(more[0], list) else None
    if not more or seen is not None:
        function = jit.compile(function)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.CompileWarning)
        for number in range(5):
            x = opyard.tensor([1.0, 2.0]) + number
            if seen is not None:
                seen.append(x)
            if gradients and seen is None:
                x.requires_grad_()
            function(x)
            assert look().tolist() == [3.0 + 3 * number, 6.0 + 3 * number], number


def test_the_reason_is_said():
    o = held(kept=opyard.tensor([0.0]))

    @jit.compile
    def function(x):
        o.kept = x * 3
        return x + 1

    with pytest.warns(jit.CompileWarning, match="changes something that it is given, or finds"):
        function(opyard.tensor([1.0]))
    assert "runs as it is" in function.explain()


def test_what_stores_nothing_is_a_graph():
    o = held(kept=opyard.tensor([1.0]), items=[1, 2], inner=held(number=2))

    @jit.compile
    def function(x):
        same = o.kept
        o.kept = same
        return x * o.inner.number + o.items[0] + same

    for number in range(3):
        assert function(opyard.tensor([1.0 * number])).tolist() == [2.0 * number + 2]
    assert len(function.graphs()) == 1


# ---- what another call finds where it is read


def given_module(x, module):
    return x * module.read


READS = {
    "a module that a function is given": lambda x: given_module(x, place),
    "a name of a module that is made up": lambda x: x * getattr(place, "".join(("re", "ad"))),
    "the dictionary of a module": lambda x: x * place.__dict__["read"],
    "a module in sys.modules": lambda x: x * sys.modules["compile_place"].read,
}


@pytest.mark.parametrize("kind", ["a Tensor", "a number"])
@pytest.mark.parametrize("name", READS)
def test_H47_what_is_read_from_a_module_is_what_it_is_now(name, kind):
    compiled = jit.compile(READS[name])
    x = opyard.tensor([1.0, 2.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", jit.CompileWarning)
        for number in (1.0, 2.0, 3.0, 3.0):
            place.read = opyard.tensor([number]) if kind == "a Tensor" else number
            assert compiled(x).tolist() == [number, 2 * number]
