"""test_tensor_keeping.py: while C++ has a tensor its Python object outlives Python, and dies once.

Suspect objects/tensor/tensor_life.cpp, tensor_class.cpp and TensorImpl::end().
"""

import gc
import sys
import threading
import time
import weakref

import pytest
from threads import is_soon_gone

import opyard

pytestmark = pytest.mark.memory


class Plain(opyard.Tensor):
    def __new__(cls, data, *_):
        return opyard.Tensor.make_subclass(cls, opyard.tensor(data))


class Slotted(Plain):
    __slots__ = ("extra",)


class Dying(Plain):
    def __new__(cls, data, died):
        return super().__new__(cls, data)

    def __init__(self, data, died):
        self.died = died

    def __del__(self):
        self.died.append(self.tolist())


MAKERS = {
    "exact": lambda: opyard.tensor([1.0, 2.0]),
    "subclass": lambda: Plain([1.0, 2.0]),
    "slots": lambda: Slotted([1.0, 2.0]),
    "__del__": lambda: Dying([1.0, 2.0], []),
}


@pytest.fixture(params=MAKERS)
def make(request):
    return MAKERS[request.param]


@pytest.fixture
def keep(plugin):
    yield plugin.keep
    plugin.keep(opyard.tensor([0]))


# E20, E21: identity and attributes ----------------------------------------------------------


def test_E20_attributes_survive_while_only_cpp_has_the_tensor(make, plugin, keep):
    tensor = make()
    tensor.foo = ["bar"]
    keep(tensor)
    place, foo = id(tensor), tensor.foo
    del tensor
    gc.collect()
    for _ in range(3):  # and again, each time it goes back and forth
        back = plugin.kept()
        assert id(back) == place
        assert back.foo is foo
        assert back.tolist() == [1, 2]
        del back
        gc.collect()


def test_E20_slots_and_the_class_survive(plugin, keep):
    tensor = Slotted([1.0])
    tensor.extra = "kept"
    keep(tensor)
    del tensor
    assert type(plugin.kept()) is Slotted
    assert plugin.kept().extra == "kept"


def test_E21_weak_references_last_until_the_real_death(make, plugin, keep):
    told = []
    tensor = make()
    reference = weakref.ref(tensor, told.append)
    keep(tensor)
    for _ in range(3):
        del tensor
        tensor = plugin.kept()
        assert reference() is tensor
    del tensor
    assert told == []
    keep(opyard.tensor([0]))
    assert reference() is None
    assert told == [reference]


def test_E21_a_weak_reference_may_be_the_way_back(make, plugin, keep):
    """What it leads to is whole also after C++ has let go."""
    tensor = make()
    tensor.foo = 1
    reference = weakref.ref(tensor)
    keep(tensor)
    del tensor
    back = reference()
    keep(opyard.tensor([0]))
    assert reference() is back
    assert (back.tolist(), back.foo) == ([1, 2], 1)
    del back
    assert reference() is None


def test_E21_the_last_owner_may_be_a_thread_without_the_gil(make, plugin, keep):
    tensor = make()
    tensor.foo = 1
    reference = weakref.ref(tensor)
    plugin.call_once_in_background("test_plugin::unchanged", tensor)
    del tensor
    assert is_soon_gone(reference)


def test_E21_it_goes_back_and_forth_under_threads(plugin, keep):
    """Threads let go, take out, and look by weak references, while others call with the tensor."""
    tensor = Plain([1.0, 2.0])
    tensor.foo = "foo"
    reference = weakref.ref(tensor)
    keep(tensor)
    del tensor
    wrong = []
    over = time.monotonic() + 0.5

    def work():
        while time.monotonic() < over:
            for back in (plugin.kept(), reference()):
                if back is not None and (back.foo, back.tolist()) != ("foo", [1, 2]):
                    wrong.append(back)
            del back
            plugin.call_once_in_background("test_plugin::unchanged", plugin.kept())

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert plugin.kept().foo == "foo"


# E22: finalisers, cycles --------------------------------------------------------------------


def test_E22_del_runs_once_at_the_real_death(plugin, keep):
    died = []
    tensor = Dying([1.0, 2.0], died)
    keep(tensor)
    for _ in range(3):
        del tensor
        gc.collect()
        tensor = plugin.kept()
    assert died == []
    del tensor
    keep(opyard.tensor([0]))
    assert died == [[1, 2]]


def test_E22_del_runs_without_any_keeping():
    died = []
    Dying([3.0], died)
    assert died == [[3]]


def test_E22_a_del_that_is_set_on_the_class_later(plugin, keep):
    class Late(Plain):
        pass

    died = []
    Late.__del__ = lambda self: died.append(self.foo)
    tensor = Late([1.0])
    tensor.foo = 7
    keep(tensor)
    del tensor
    assert plugin.kept().foo == 7
    assert died == []
    keep(opyard.tensor([0]))
    assert died == [7]
    del Late.__del__
    Late([1.0])
    assert died == [7]


def test_E22_a_del_that_gives_the_tensor_to_cpp(plugin, keep):
    class Returning(Plain):
        def __del__(self):
            died.append(1)
            keep(self)

    died = []
    tensor = Returning([5.0])
    tensor.foo = "again"
    del tensor
    assert died == [1]
    assert plugin.kept().foo == "again"
    keep(opyard.tensor([0]))
    assert died == [1]


def test_E22_a_del_that_raises_is_reported(monkeypatch):
    class Raising(Plain):
        def __del__(self):
            raise ZeroDivisionError

    reported = []
    monkeypatch.setattr(sys, "unraisablehook", lambda report: reported.append(report.exc_type))
    Raising([1.0])
    assert reported == [ZeroDivisionError]


def test_E22_an_exception_that_is_on_its_way_stays(plugin, keep):
    tensor = Dying([1.0], died := [])
    try:
        try:
            raise KeyError("first")
        finally:
            del tensor
    except KeyError as error:
        assert error.args == ("first",)
    assert died == [[1]]


def test_E22_cycles_are_collected(make):
    tensor = make()
    tensor.me = tensor
    gone = weakref.ref(tensor)
    del tensor
    assert gone() is not None
    gc.collect()
    assert gone() is None


def test_E22_a_cycle_survives_while_cpp_has_the_tensor(make, plugin, keep):
    tensor = make()
    tensor.me = [tensor]
    tensor.foo = "foo"
    keep(tensor)
    del tensor
    gc.collect()
    back = plugin.kept()
    assert back.me[0] is back
    assert back.foo == "foo"
    del back
    gc.collect()
    assert plugin.kept().foo == "foo"
    died = getattr(plugin.kept(), "died", [])
    assert died == []
    keep(opyard.tensor([0]))
    gc.collect()
    assert died in ([], [[1, 2]])


def test_E22_super_has_no_del():
    assert not hasattr(opyard.Tensor, "__del__")


def test_E22_the_collector_sees_an_exact_tensor_with_attributes_only():
    tensor = opyard.tensor([1])
    assert not gc.is_tracked(tensor)
    assert vars(tensor) == {}
    assert gc.is_tracked(tensor)
    other = opyard.tensor([1])
    other.foo = 1
    assert gc.is_tracked(other)
    del other
    assert not gc.is_tracked(opyard.tensor([1]))


# E23, classes -------------------------------------------------------------------------------


def test_E23_a_tensor_has_one_object():
    class First(Plain):
        pass

    class Second(opyard.Tensor):
        pass

    first = First([1.0])
    with pytest.raises(TypeError) as caught:
        Second(first)
    assert str(caught.value) == (
        "Creating a new Tensor subclass Second but the raw Tensor object is already associated to "
        "a python object of type First; as_subclass(Second) gives a tensor of its own on the same "
        "memory"
    )
    second = first.as_subclass(Second)
    assert type(second) is Second
    assert second.data_ptr() == first.data_ptr()
    assert type(second.as_subclass(opyard.Tensor)) is opyard.Tensor


def test_a_class_without_new_says_what_to_define():
    class Bare(opyard.Tensor):
        pass

    with pytest.raises(TypeError) as caught:
        Bare([1.0])
    assert str(caught.value) == (
        "Bare has no __new__ of its own; define one that returns Tensor.make_subclass(cls, data)"
    )


@pytest.mark.parametrize(
    ("cls", "came"), [(int, "the class int"), (3, "a int"), (Plain([1.0]), "a Plain")]
)
def test_only_subclasses_of_tensor_are_made(cls, came):
    with pytest.raises(TypeError) as caught:
        opyard.tensor([1]).as_subclass(cls)
    assert str(caught.value) == (
        f"as_subclass() takes opyard.Tensor or a subclass of it, not {came}"
    )


def test_a_class_may_have_a_class_of_its_own():
    class Meta(type(opyard.Tensor)):
        pass

    class Own(Plain, metaclass=Meta):
        pass

    tensor = Own([1.0])
    assert type(Own) is Meta
    assert (tensor + tensor).tolist() == [2]
    assert opyard.ops.aten.add(tensor, tensor).tolist() == [2]


def test_instances_are_tensors_to_operators():
    tensor = Plain([1.0, 2.0])
    assert isinstance(tensor, opyard.Tensor)
    assert type(tensor + tensor) is opyard.Tensor
    assert (tensor + 1).tolist() == [2, 3]
    tensor += 1
    assert type(tensor) is Plain
    assert repr(tensor) == "Plain([2., 3.])"


def test_attributes_beside_operators():
    tensor = opyard.tensor([1.0])
    tensor.relu = 3
    assert tensor.relu == 3
    del tensor.relu
    assert tensor.relu().tolist() == [1]
    with pytest.raises(AttributeError):
        tensor.shape = (1,)
    with pytest.raises(AttributeError):
        tensor.no_such_name  # noqa: B018
    tensor.__dict__ = {"a": 1}
    assert tensor.a == 1


# E24, leaks ---------------------------------------------------------------------------------


def test_keeping_leaves_nothing_behind(make, plugin, keep):
    def round_trip():
        tensor = make()
        tensor.foo = []
        reference = weakref.ref(tensor)
        keep(tensor)
        del tensor
        back = reference()
        del back
        plugin.kept().foo.append(1)
        keep(plugin.kept() + 1)
        assert reference() is None

    for _ in range(100):
        round_trip()
    gc.collect()
    growth = []
    for _ in range(3):
        before = sys.getallocatedblocks()
        for _ in range(200):
            round_trip()
        gc.collect()
        growth.append(abs(sys.getallocatedblocks() - before))
    assert min(growth) < 100


@pytest.mark.parametrize("make", ["opyard.tensor([1.0])", "Kept([1.0])", "Dying([1.0])"])
@pytest.mark.parametrize("leave", ["pass", "sys.exit(0)", "tensor = None", "gc.collect()"])
def test_E24_what_cpp_keeps_at_the_end_is_silent(run_program, make, leave):
    done = run_program(f"""
        import gc, sys, weakref
        import opyard
        from pathlib import Path

        class Kept(opyard.Tensor):
            def __new__(cls, data):
                return opyard.Tensor.make_subclass(cls, opyard.tensor(data))

        class Dying(Kept):
            def __del__(self):
                self.tolist()

        folder = Path(opyard.__file__).resolve().parents[2]
        opyard.load_library(folder / "test" / "python" / "opyard_test_plugin.so")
        tensor = {make}
        tensor.foo = lambda: tensor
        reference = weakref.ref(tensor)
        opyard.ops.test_plugin.keep(tensor)  # a static of C++ has it until the process ends
        tensor = tensor if len(sys.argv) else None
        {leave}
    """)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""


# what a class may do meanwhile ----------------------------------------------------------------


@pytest.mark.parametrize("change", ["set", "delete", "mixin", "bases", "on Tensor"])
def test_E22_a_del_that_comes_and_goes_while_the_tensor_is_kept(plugin, keep, change):
    class Mixin:
        pass

    class Other(Plain):
        def __del__(self):
            pass

    class Base(Plain):
        if change == "delete":

            def __del__(self):
                pass

    class Derived(Mixin, Base):
        pass

    tensor = Derived([1.0, 2.0])
    tensor.foo = 1
    keep(tensor)
    del tensor
    try:
        if change == "set":
            Base.__del__ = lambda self: None
        elif change == "delete":
            del Base.__del__
        elif change == "mixin":
            Mixin.__del__ = lambda self: None
        elif change == "bases":
            Base.__bases__ = (Other, *Base.__bases__)
        else:
            opyard.Tensor.__del__ = lambda self: None
        assert (plugin.kept().foo, plugin.kept().tolist()) == (1, [1, 2])
        keep(opyard.tensor([0]))
        gc.collect()
    finally:
        if change == "on Tensor":
            del opyard.Tensor.__del__


def test_the_class_of_a_tensor_is_not_assigned():
    tensor = Plain([1.0])
    with pytest.raises(TypeError) as caught:
        tensor.__class__ = opyard.Tensor
    assert str(caught.value) == (
        "the class of a Plain cannot be assigned; as_subclass(cls) gives a tensor of another class "
        "on the same memory"
    )
    assert tensor.__class__ is Plain


def test_E22_the_collector_leaves_alone_what_cpp_reaches(plugin, keep):
    class Held:
        def __del__(self):
            died.append(1)

    died = []
    tensor = Plain([1.0])
    tensor.held = Held()
    tensor.held.back = tensor
    reference = weakref.ref(tensor)
    keep(tensor)
    del tensor
    gc.collect()
    assert died == []
    assert reference() is plugin.kept()
    assert reference().held.back is reference()
    keep(opyard.tensor([0]))
    gc.collect()
    assert died == [1]
    assert reference() is None


def test_E21_a_tensor_that_brought_itself_back_is_kept_all_the_same(plugin, keep):
    class Back(Plain):
        def __del__(self):
            box.append(self)

    box = []
    tensor = Back([1.0])
    tensor.foo = 7
    del tensor
    assert plugin.unchanged(box[0]) is box[0]
    keep(box.pop())
    assert (type(plugin.kept()), plugin.kept().foo) == (Back, 7)
    keep(opyard.tensor([0]))
    assert box == []
