"""test_tensor_methods.py: operators as methods of tensors, found in a cache by class and name.

Suspect objects/tensor/aten_methods.cpp: what a class, an instance or the registry says later has
to go before what was found earlier.
"""

import copy
import functools
import gc
import inspect
import pickle
import pydoc
import threading
import weakref

import pytest

import opyard
from opyard.library import Library

pytestmark = pytest.mark.memory

aten = opyard.ops.aten
NAME = "methods_probe"


def tensor(*numbers):
    return opyard.tensor(list(numbers), dtype=opyard.float32)


def probe(x):
    """Always asks by the same name, as an instruction that was run often does."""
    return x.methods_probe()


@pytest.fixture
def operator():
    library = Library("aten", "FRAGMENT")
    library.define(f"{NAME}(Tensor x) -> Tensor")
    library.impl(NAME, lambda x: x * 3, "CPU")
    yield library
    library._destroy()


def warm(x):
    for _ in range(50):
        assert probe(x).tolist() == [3.0, 6.0]


def test_an_attribute_of_the_class_goes_before_what_was_found(operator):
    x = tensor(1, 2)
    warm(x)
    opyard.Tensor.methods_probe = lambda self: "the class"
    try:
        assert probe(x) == "the class"
    finally:
        del opyard.Tensor.methods_probe
    warm(x)


def test_an_attribute_of_the_tensor_goes_before_what_was_found(operator):
    x, y = tensor(1, 2), tensor(1, 2)
    warm(x)
    x.methods_probe = lambda: "the tensor"
    assert probe(x) == "the tensor"
    warm(y)
    del x.methods_probe
    warm(x)


def test_a_subclass_and_what_is_behind_tensor_among_its_bases_go_before_it(operator):
    class Behind:
        pass

    class Own(opyard.Tensor, Behind):
        pass

    x = tensor(1, 2).as_subclass(Own)
    warm(x)
    Behind.methods_probe = lambda self: "a base behind Tensor"
    assert probe(x) == "a base behind Tensor"
    Own.methods_probe = lambda self: "the subclass"
    assert probe(x) == "the subclass"
    del Own.methods_probe, Behind.methods_probe
    warm(x)


def test_classes_that_come_and_go_are_not_taken_for_each_other(operator):
    for turn in range(30):
        text = f"class {turn}"
        body = {"methods_probe": lambda self, text=text: text} if turn % 2 else {}
        made = type("Made", (opyard.Tensor,), body)
        x = tensor(1, 2).as_subclass(made)
        if turn % 2:
            assert probe(x) == text
        else:
            warm(x)
        del x, made
        gc.collect()


def test_an_operator_that_ends_is_no_method_any_more():
    x = tensor(1, 2)
    for turn in range(5):
        with pytest.raises(AttributeError, match=f"no attribute '{NAME}'"):
            probe(x)
        library = Library("aten", "FRAGMENT")
        library.define(f"{NAME}(Tensor x) -> Tensor")
        library.impl(NAME, lambda x, turn=turn: x * turn, "CPU")
        for _ in range(50):
            assert probe(x).tolist() == [float(turn), 2.0 * turn]
        library._destroy()


def test_a_method_keeps_its_tensor_and_its_operator(operator):
    x = tensor(1, 2)
    warm(x)
    bound = x.methods_probe
    assert bound.__self__ is x
    assert bound.__func__ is aten.methods_probe is opyard.Tensor.methods_probe
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert bound().tolist() == [3.0, 6.0]
    del bound
    gc.collect()
    assert seen() is None


def test_a_name_that_is_not_interned_is_found(operator):
    x = tensor(1, 2)
    for _ in range(100):
        assert getattr(x, "".join(["methods", "_probe"]))().tolist() == [3.0, 6.0]


def test_help_and_dir_are_those_of_the_operator():
    x = tensor(1, 2)
    for _ in range(50):
        x.relu()
    assert "relu" in dir(x)
    assert "relu" not in vars(opyard.Tensor)
    assert inspect.isroutine(x.relu)
    text = pydoc.plain(pydoc.render_doc(x.relu))
    assert "relu() -> opyard.Tensor" in text and "aten::relu(Tensor self) -> Tensor" in text
    assert x.relu.__doc__ == aten.relu.__doc__
    assert "self" not in inspect.signature(x.relu).parameters


def test_all_operators_are_methods():
    x = tensor(1, 2)
    for _ in range(3):
        same = 0
        for name in set(dir(aten)) - {"real", "imag", "mT"}:  # which are attributes
            if not name.startswith("_") and hasattr(getattr(x, name), "__func__"):
                assert (getattr(x, name).__func__ is getattr(aten, name)) == (
                    name not in ("where", "alias")
                )
                same += 1
        assert same > 500


def test_dir_does_not_list_what_is_gone():
    x = tensor(1, 2)
    library = Library("aten", "FRAGMENT")
    library.define("methods_gone(Tensor x) -> Tensor")
    library.impl("methods_gone", lambda x: x, "CPU")
    assert x.methods_gone() is x
    assert "methods_gone" in dir(x)
    library._destroy()
    assert "methods_gone" not in dir(x)
    assert not hasattr(x, "methods_gone")
    assert not hasattr(opyard.Tensor, "methods_gone")
    with pytest.raises(AttributeError, match="type object 'opyard.Tensor' has no attribute"):
        opyard.Tensor.methods_gone  # noqa: B018


def test_an_attribute_goes_before_what_is_behind_tensor_and_that_before_the_operator():
    class Behind:
        relu = 7

        @property
        def neg(self):
            return 8

    class Own(opyard.Tensor, Behind):
        pass

    x = tensor(-1, 2)
    x.relu(), x.neg()
    own = x.as_subclass(Own)
    assert (own.relu, own.neg, Own.relu) == (7, 8, 7)
    own.relu = 9
    assert own.relu == 9
    assert x.relu().tolist() == [0.0, 2.0]


def test_an_attribute_of_the_class_that_is_deleted_uncovers_the_operator(run_program):
    done = run_program("""
        import opyard

        opyard.Tensor.relu = lambda self: "the class"
        x = opyard.tensor([-1.0, 2.0])
        assert x.neg().tolist() == [1.0, -2.0]
        assert x.relu() == "the class"
        del opyard.Tensor.relu
        assert x.relu().tolist() == [0.0, 2.0]
        assert x.relu().tolist() == [0.0, 2.0]
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_operators_that_come_on_another_thread_are_methods_at_once():
    x = tensor(1, 2)
    for turn in range(20):
        name = f"methods_of_thread_{turn}"
        made = []

        def define(name=name, made=made):
            library = Library("aten", "FRAGMENT")
            library.define(f"{name}(Tensor x) -> Tensor")
            library.impl(name, lambda x: x * 5, "CPU")
            made.append(library)

        assert not hasattr(x, name)
        thread = threading.Thread(target=define)
        thread.start()
        thread.join()
        assert getattr(x, name)().tolist() == [5.0, 10.0]
        assert x.relu().tolist() == [1.0, 2.0]
        made[0]._destroy()
        assert not hasattr(x, name)


def test_interpreters_find_their_own(run_program):
    done = run_program("""
        import sys
        import opyard

        try:
            import _xxsubinterpreters as interpreters
        except ImportError:
            try:
                import _interpreters as interpreters
            except ImportError:
                sys.exit()
        x = opyard.tensor([-1.0, 2.0])
        for _ in range(100):
            x.relu()
        inside = '''
        import opyard
        y = opyard.tensor([-1.0, 3.0])
        for _ in range(100):
            assert y.relu().tolist() == [0.0, 3.0]
        assert y.relu.__func__ is opyard.ops.aten.relu
        '''
        import textwrap
        for _ in range(3):
            one = interpreters.create()
            interpreters.run_string(one, textwrap.dedent(inside))
            interpreters.destroy(one)
            assert x.relu().tolist() == [0.0, 2.0]
    """)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_bound_method_is_as_those_of_python():
    x = tensor(1, -2)
    method = x.relu
    assert method.__self__ is x and method.__func__ is aten.relu
    assert method.__name__ == method.__qualname__ == "relu"
    assert method.__module__ == aten.relu.__module__ and method.__doc__ == aten.relu.__doc__
    assert repr(method) == f"<bound method relu of {x!r}>"
    assert method == x.relu and hash(method) == hash(x.relu)
    assert method not in (x.neg, tensor(1, -2).relu, x.relu(), "relu")
    assert method.overloads() == ["default"] and callable(method)
    assert str(inspect.signature(x.where)) == "(condition: Any, other: Any) -> opyard.Tensor"
    assert copy.copy(method) == method
    assert type("A", (), {"f": method})().f is method
    assert pickle.loads(pickle.dumps(method))().tolist() == [1.0, 0.0]
    with pytest.raises(AttributeError):
        method.no_such = 1
    assert weakref.WeakMethod(method)() == method
    made = copy.deepcopy(method)
    assert made.__func__ is aten.relu and made.__self__ is not x
    assert made().tolist() == [1.0, 0.0]
    for wrong in ((), (aten.relu,), (1, x)):
        with pytest.raises(TypeError):
            type(method)(*wrong)
    with pytest.raises(TypeError, match="immutable"):
        type(method).extra = 1
    assert weakref.ref(method)() is method


def test_a_bound_method_passes_arguments_on():
    x = tensor(1, 2)
    add = x.add
    given = [tensor(1, 1)]
    assert add(tensor(1, 1)).tolist() == add(*given).tolist() == [2.0, 3.0]
    assert add(tensor(1, 1), alpha=2).tolist() == add(*given, **{"alpha": 2}).tolist() == [3, 4]
    assert add(other=tensor(1, 1)).tolist() == [2.0, 3.0]
    assert next(map(add, given)).tolist() == [2.0, 3.0]
    assert functools.partial(add, alpha=3)(*given).tolist() == [4.0, 5.0]
    with pytest.raises(TypeError, match="missing value for argument 'other'"):
        add()
    assert x.add(x.mul(x.add(x.neg().abs()))).tolist() == [3.0, 10.0]  # each in the other's call


def test_bound_methods_that_died_leave_nothing_alive():
    x = tensor(1, 2)
    seen = weakref.ref(x)
    methods = [x.relu for _ in range(20)]
    watched = weakref.ref(methods[0])
    ended = []
    again = weakref.ref(methods[1], lambda _: ended.append(1))
    assert gc.is_tracked(methods[0])
    del x, methods
    assert seen() is None and watched() is None and again() is None and ended == [1]
    others = [tensor(3).relu for _ in range(20)]
    assert [one().tolist() for one in others] == [[3.0]] * 20
    assert weakref.ref(others[0])() is others[0]


def test_a_cycle_through_a_bound_method_is_collected():
    x = tensor(1, 2)
    x.kept = [x.relu, x.alias]
    seen = weakref.ref(x)
    del x
    gc.collect()
    assert seen() is None


def test_alias_is_kept_as_operators_are_and_can_be_hidden():
    x = tensor(1, 2)
    for _ in range(3):
        assert x.alias().tolist() == [1.0, 2.0] and x.alias.__self__ is x
    x.alias = lambda: "hidden"
    assert x.alias() == "hidden" and tensor(1).alias().tolist() == [1.0]

    class Other(opyard.Tensor):
        def alias(self):
            return "of a class"

    y = opyard.Tensor.make_subclass(Other, tensor(1))
    assert y.alias() == "of a class" and tensor(1).alias().tolist() == [1.0]
    del Other.alias
    assert type(y).alias is opyard.Tensor.alias and y.alias().tolist() == [1.0]


@pytest.mark.parametrize(
    "kept",
    [
        "x.keep = x.relu; opyard.Tensor.mine = lambda self: x",
        "x.keep = [x.relu, x.alias]; m = x.relu",
        "import types; types.keep = x.relu; sys.modules['kept'] = x.add",
        "class Kept(opyard.Tensor): pass\n"
        "y = opyard.Tensor.make_subclass(Kept, x)\ny.me = y.relu\nKept.one = y.me",
    ],
)
def test_bound_methods_that_are_there_at_exit(run_program, kept):
    ended = run_program(
        f"import sys, opyard\nx = opyard.tensor([1.0, -2.0])\n{kept}\nassert x.relu()[1] == 0\n"
    )
    assert ended.returncode == 0, ended.stderr
