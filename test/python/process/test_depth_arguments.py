"""test_depth_arguments.py: code of an object's own that C++ calls, and that leads back to C++.

Each way is tried without end on small and on large stacks, at Python's own limit and above it.
A thread must not run into the end of its C stack, which ends the process: RecursionError is raised
before. Kernels, handlers and modes are in test_depth.py, functions in test_depth_functions.py.
What is left out leads back by Python alone: such a program ends CPython's own stack without Opyard
as well.

Suspect runtime/stack_end.cpp, and who calls is_stack_at_its_end().
"""

import sys

import pytest
from built import plain_build
from deep_programs import check_deep

# Text that defines go(), which leads to itself by way of C++; step() counts a level.
WAYS = {
    # Arguments of operators
    "__repr__ of what is refused": """
        class Argument:
            def __repr__(self):
                step()
                return str(aten.neg(self))
        go = lambda: aten.neg(Argument())
    """,
    "__repr__ of what no overload takes": """
        class Argument:
            def __repr__(self):
                step()
                return str(aten.add(x, self))
        go = lambda: aten.add(x, Argument())
    """,
    "__repr__ of an int past 64 bits": """
        class Argument(int):
            def __repr__(self):
                step()
                return str(aten.full([self], 1.0))
        go = lambda: aten.full([Argument(1 << 70)], 1.0)
    """,
    "__repr__ of an int in data": """
        class Argument(int):
            def __repr__(self):
                step()
                return str(opyard.tensor([self]))
        go = lambda: opyard.tensor([Argument(1 << 70)])
    """,
    "__opyard_value__": """
        class Argument:
            def __opyard_value__(self):
                step()
                return aten.neg(self)
        go = lambda: aten.neg(Argument())
    """,
    "__opyard_value__ that is looked up": """
        class Meta(type):
            @property
            def __opyard_value__(self):
                step()
                return aten.neg(self())
        class Argument(metaclass=Meta): pass
        go = lambda: aten.neg(Argument())
    """,
    "__index__": """
        class Argument:
            def __index__(self):
                step()
                return aten.full([self], 1.0).size(0)
        go = lambda: aten.full([Argument()], 1.0)
    """,
    "__index__ of sizes one by one": """
        class Argument:
            def __index__(self):
                step()
                return aten.ones(self, self).size(0)
        go = lambda: aten.ones(Argument(), 2)
    """,
    "__float__": """
        class Argument:
            def __float__(self):
                step()
                return aten.dropout(x, self, True).item()
        go = lambda: aten.dropout(x, Argument(), True)
    """,
    "__float__ of a Scalar": """
        class Argument:
            def __float__(self):
                step()
                return aten.add(x, x, alpha=self).item()
        go = lambda: aten.add(x, x, alpha=Argument())
    """,
    "__bool__": """
        Argument = type("numpy.bool_", (), {
            "__bool__": lambda self: (step(), bool(aten.sum(x, [0], self)))[1]})
        go = lambda: aten.sum(x, [0], Argument())
    """,
    "__len__ and __getitem__ of sizes": """
        class Argument:
            def __len__(self):
                return 1
            def __getitem__(self, i):
                step()
                return aten.full(self, 1.0).size(0)
        go = lambda: aten.full(Argument(), 1.0)
    """,
    "__iter__ of sizes": """
        class Argument(list):
            def __iter__(self):
                step()
                return iter(aten.full(self, 1.0).tolist())
            def __len__(self):
                step()
                return len(aten.full(self, 1.0))
            def __getitem__(self, i):
                step()
                return aten.full(self, 1.0)[0]
        class Other:
            def __iter__(self):
                step()
                return iter(aten.full(self, 1.0).tolist())
            __len__ = Argument.__len__
            __getitem__ = Argument.__getitem__
        go = lambda: aten.full(Other(), 1.0)
    """,
    "the name of an enum": """
        class Meta(type):
            @property
            def __members__(self):
                step()
                return aten.to(x, self())
        class Argument(metaclass=Meta): pass
        go = lambda: aten.to(x, Argument())
    """,
    "__dlpack__": """
        class Argument:
            def __dlpack__(self, **how):
                step()
                return aten.neg(self).__dlpack__(**how)
            def __dlpack_device__(self):
                return (1, 0)
        go = lambda: aten.neg(Argument())
    """,
    "__getattr__ of an array": """
        class Argument:
            def __getattribute__(self, name):
                step()
                return getattr(aten.neg(self), name)
            def __dlpack__(self, **how):
                return x.__dlpack__(**how)
            def __dlpack_device__(self):
                return (1, 0)
        go = lambda: aten.neg(Argument())
    """,
    "__buffer__": """
        class Argument:
            def __buffer__(self, flags):
                step()
                return memoryview(aten.neg(self))
        go = lambda: aten.neg(Argument())
    """,
    "__hash__ of a class for a dtype": """
        class Meta(type):
            def __eq__(self, other):
                step()
                aten.to(x, self)
                return False
            def __hash__(self):
                step()
                aten.to(x, self)
                return 1
        class Argument(metaclass=Meta): pass
        go = lambda: aten.to(x, Argument)
    """,
    "__del__": """
        class Argument:
            def __del__(self):
                step()
                opyard.ops.deep.any([Argument()])
        lib.define("any(Any x) -> ()")
        lib.impl("any", lambda x: None, "CompositeExplicitAutograd")
        sys.unraisablehook = lambda unraisable: raised.append(unraisable.exc_type)
        go = lambda: opyard.ops.deep.any([Argument()])
    """,
    # Tensors
    "tensor of __getitem__": """
        class Data:
            def __len__(self):
                return 1
            def __getitem__(self, i):
                step()
                return opyard.tensor(self)
        go = lambda: opyard.tensor(Data())
    """,
    "tensor of __iter__": """
        class Data:
            def __getitem__(self, i):
                return 1
            def __iter__(self):
                step()
                return iter(opyard.tensor(self))
        go = lambda: opyard.tensor(Data())
    """,
    "tensor of __len__": """
        class Data:
            def __getitem__(self, i):
                return 1
            def __len__(self):
                step()
                return len(opyard.tensor(self))
            def __length_hint__(self):
                step()
                return len(opyard.tensor(self))
        go = lambda: opyard.tensor(Data())
    """,
    "tensor of __dlpack__": """
        class Data:
            def __dlpack__(self, **how):
                step()
                return opyard.tensor(self).__dlpack__(**how)
            def __dlpack_device__(self):
                return (1, 0)
        go = lambda: opyard.tensor(Data())
    """,
    "tensor of an attribute": """
        class Data:
            def __getattr__(self, name):
                step()
                return getattr(opyard.tensor(self), name)
        go = lambda: opyard.tensor(Data())
    """,
    "tensor of a dtype": """
        class Data:
            def __eq__(self, other):
                step()
                opyard.tensor([1], dtype=self)
                return False
            def __hash__(self):
                step()
                opyard.tensor([1], dtype=self)
                return 1
            @property
            def dtype(self):
                step()
                return opyard.tensor([1], dtype=self).dtype
            def __repr__(self):
                step()
                return str(opyard.tensor([1], dtype=self))
        go = lambda: opyard.tensor([1], dtype=Data())
    """,
    "tensor of requires_grad": """
        class Data:
            def __bool__(self):
                step()
                return opyard.tensor([1.0], requires_grad=self).requires_grad
        go = lambda: opyard.tensor([1.0], requires_grad=Data())
    """,
    "from_dlpack": """
        class Data:
            def __dlpack__(self, **how):
                step()
                return opyard.from_dlpack(self).__dlpack__(**how)
            def __dlpack_device__(self):
                return (1, 0)
        go = lambda: opyard.from_dlpack(Data())
    """,
    "from_dlpack of __getattribute__": """
        class Data:
            def __getattribute__(self, name):
                step()
                return getattr(opyard.from_dlpack(self), name)
        go = lambda: opyard.from_dlpack(Data())
    """,
    "__index__ of to_dlpack": """
        class Data:
            def __index__(self):
                step()
                x.__dlpack__(max_version=(self, self))
                return 1
        go = lambda: x.__dlpack__(max_version=(Data(), 1))
    """,
    "__bool__ of to_dlpack": """
        class Data:
            def __bool__(self):
                step()
                x.__dlpack__(copy=self)
                return True
        go = lambda: x.__dlpack__(copy=Data())
    """,
    "from_numpy of __buffer__": """
        class Data:
            def __buffer__(self, flags):
                step()
                return memoryview(opyard.from_numpy(self))
        go = lambda: opyard.from_numpy(Data())
    """,
    "tensor of __buffer__": """
        class Data:
            def __buffer__(self, flags):
                step()
                return memoryview(opyard.tensor(self))
        go = lambda: opyard.tensor(Data())
    """,
    "an index": """
        class Index:
            def __index__(self):
                step()
                return x[self].long().item()
        go = lambda: x[Index()]
    """,
    "an index of a slice": """
        class Index:
            def __index__(self):
                step()
                return x[self:].size(0)
        go = lambda: x[Index():]
    """,
    "an index of an assignment": """
        class Index:
            def __index__(self):
                step()
                x[self] = 1.0
                return 0
        def go():
            x[Index()] = 1.0
    """,
    "a value that is assigned": """
        class Given:
            def __float__(self):
                step()
                x[0] = self
                return 1.0
            def __len__(self):
                step()
                x[0] = self
                return 1
            def __getitem__(self, i):
                step()
                x[0] = self
                return 1
        def go():
            x[0] = Given()
    """,
    "arithmetic from the right": """
        class Other:
            def __radd__(self, other):
                step()
                return other + self
        go = lambda: x + Other()
    """,
    "comparison from the right": """
        class Other:
            def __eq__(self, other):
                step()
                return other == self
        go = lambda: x == Other()
    """,
    "a number's item": """
        class T(opyard.Tensor):
            @classmethod
            def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
                step()
                return float(t)
        t = opyard.Tensor.make_wrapper_subclass(T, [])
        go = lambda: float(t)
    """,
    "an index that is a subclass": """
        class T(opyard.Tensor):
            @classmethod
            def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
                step()
                return x[t]
        t = opyard.Tensor.make_subclass(T, opyard.tensor([0]))
        go = lambda: x[t]
    """,
    "tolist of a subclass": """
        class T(opyard.Tensor):
            @classmethod
            def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
                step()
                return t.tolist()
        t = opyard.Tensor.make_wrapper_subclass(T, [2])
        go = lambda: t.tolist()
    """,
    "deepcopy": """
        import copy
        class Part:
            def __deepcopy__(self, memo):
                step()
                return copy.deepcopy(y)
        y = opyard.tensor([1.0])
        y.part = Part()
        go = lambda: copy.deepcopy(y)
    """,
    "pickling": """
        import pickle
        class Part:
            def __reduce__(self):
                step()
                return (str, (pickle.dumps(y),))
        y = opyard.tensor([1.0])
        y.part = Part()
        go = lambda: pickle.dumps(y)
    """,
    "an array made of a tensor": """
        import numpy
        class T(opyard.Tensor):
            @classmethod
            def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
                step()
                return numpy.asarray(t)
        t = opyard.Tensor.make_wrapper_subclass(T, [2])
        go = lambda: numpy.asarray(t)
    """,
    "sizes of a subclass": """
        class T(opyard.Tensor):
            @classmethod
            def __opyard_dispatch__(cls, op, types, args=(), kwargs=None):
                step()
                return t.shape
        t = opyard.Tensor.make_wrapper_subclass(T, [2], dispatch_sizes_strides_policy="sizes")
        go = lambda: t.shape
    """,
    "a property of a subclass": """
        class T(opyard.Tensor):
            def __getattr__(self, name):
                step()
                return self.unknown
        t = opyard.Tensor.make_subclass(T, opyard.tensor([0.5]))
        go = lambda: t.unknown
    """,
    # pybind11 converts these, and takes an exception for an argument that is none.
    "an index of a graph's node": r"""
        from opyard import jit
        text = "graph(%x):\n  %y = aten::neg(%x)\n  return (%y)\n"
        node = next(iter(jit.parse_ir(text).nodes()))
        class Argument:
            def __index__(self):
                step()
                node.remove_input(self)
        go = lambda: node.remove_input(Argument())
    """,
}

# What ends otherwise: nothing of the level before is on the stack then.
OTHERWISE = {"__del__": "Enough", "an index of a graph's node": "TypeError"}


@plain_build
@pytest.mark.parametrize("way", WAYS)
def test_B10_an_object_that_leads_back_to_cpp_raises_before_the_stack_ends(way):
    if "__buffer__" in way and sys.version_info < (3, 12):
        pytest.skip("classes have no __buffer__ before CPython 3.12")
    if way == "__del__" and sys.version_info >= (3, 13):
        pytest.skip("CPython 3.13 ends by such an object without Opyard, too")
    if "NumPy" in way or "numpy" in WAYS[way]:
        pytest.importorskip("numpy")
    check_deep(WAYS[way], OTHERWISE.get(way, "RecursionError"))
