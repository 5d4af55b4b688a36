"""test_depth_functions.py: functions of a user that C++ calls, and that lead back to C++.

Each way is tried without end on small and on large stacks, at Python's own limit and above it.
A thread must not run into the end of its C stack, which ends the process: RecursionError is raised
before. Kernels, handlers and modes are in test_depth.py, objects in test_depth_arguments.py.
What is left out leads back by Python alone: such a program ends CPython's own stack without Opyard
as well.

Suspect runtime/stack_end.cpp, and who calls is_stack_at_its_end().
"""

import pytest
from built import plain_build
from deep_programs import check_deep

# Text that defines go(), which leads to itself by way of C++; step() counts a level.
WAYS = {
    # Gradients
    "forward": """
        class F(opyard.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                step()
                return F.apply(x)
            @staticmethod
            def backward(ctx, g):
                return g
        w = opyard.tensor([1.0]).requires_grad_()
        go = lambda: F.apply(w)
    """,
    "backward": """
        class F(opyard.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                step()
                go()
                return g
        w = opyard.tensor([1.0]).requires_grad_()
        def go():
            with opyard.enable_grad():
                F.apply(w).sum().backward()
    """,
    "grad in a backward": """
        class F(opyard.autograd.Function):
            @staticmethod
            def forward(ctx, x):
                return x * 2
            @staticmethod
            def backward(ctx, g):
                step()
                return go()
        w = opyard.tensor([1.0]).requires_grad_()
        def go():
            with opyard.enable_grad():
                y = F.apply(w).sum()
            return opyard.autograd.grad(y, [w])[0]
    """,
    "a hook of a tensor": """
        w = opyard.tensor([1.0]).requires_grad_()
        def hook(g):
            step()
            go()
        def go():
            with opyard.enable_grad():
                y = w * 2
                y.register_hook(hook)
                y.sum().backward()
    """,
    "a hook after accumulation": """
        w = opyard.tensor([1.0]).requires_grad_()
        def hook(_):
            step()
            go()
        w.register_post_accumulate_grad_hook(hook)
        def go():
            with opyard.enable_grad():
                (w * 2).sum().backward()
    """,
    "a hook before a function": """
        w = opyard.tensor([1.0]).requires_grad_()
        def hook(*_):
            step()
            go()
        def go():
            with opyard.enable_grad():
                y = w * 2
                y.grad_fn.register_prehook(hook)
                y.sum().backward()
    """,
    "a hook behind a function": """
        w = opyard.tensor([1.0]).requires_grad_()
        def hook(*_):
            step()
            go()
        def go():
            with opyard.enable_grad():
                y = w * 2
                y.grad_fn.register_hook(hook)
                y.sum().backward()
    """,
    "setup_context of an operator": """
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x.clone(), "CPU")
        def setup(ctx, inputs, output):
            step()
            with opyard.enable_grad():
                opyard.ops.deep.f(w)
        opyard.library.register_autograd(
            "deep::f", lambda ctx, g: g, setup_context=setup, lib=lib)
        w = opyard.tensor([1.0]).requires_grad_()
        go = lambda: opyard.ops.deep.f(w)
    """,
    "backward of an operator": """
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda x: x.clone(), "CPU")
        def backward(ctx, g):
            step()
            go()
            return g
        opyard.library.register_autograd("deep::f", backward, lib=lib)
        w = opyard.tensor([1.0]).requires_grad_()
        def go():
            with opyard.enable_grad():
                opyard.ops.deep.f(w).sum().backward()
    """,
    "gradcheck": """
        w = opyard.tensor([1.0], dtype=opyard.float64).requires_grad_()
        def f(a):
            step()
            opyard.autograd.gradcheck(f, [w])
            return a * 2
        go = lambda: opyard.autograd.gradcheck(f, [w])
    """,
    # Graphs
    "a function in a graph": """
        from opyard import jit
        graph = jit.Graph()
        given = graph.add_input("x")
        def function(a):
            step()
            return code(a)
        node = graph.append_node(jit.create_python_op(graph, function, [given]))
        graph.register_output(node.output())
        code = jit.compile(graph)
        go = lambda: code(x)
    """,
    "an operator in a graph": """
        from opyard import jit
        lib.define("g(Tensor x) -> Tensor")
        def kernel(a):
            step()
            return code(a)
        lib.impl("g", kernel, "CPU")
        code = jit.compile(jit.parse_expression("g(x)", ["x"], name_space="deep"))
        go = lambda: code(x)
    """,
    "a state of a graph": """
        from opyard import jit
        lib.define("g(Tensor x) -> Tensor")
        def kernel(a):
            step()
            return jit.InterpreterState(code).run_one_stage(a)
        lib.impl("g", kernel, "CPU")
        code = jit.compile(jit.parse_expression("g(x)", ["x"], name_space="deep"))
        go = lambda: jit.InterpreterState(code).run_one_stage(x)
    """,
    "an argument of a graph": """
        from opyard import jit
        code = jit.compile(jit.parse_ir("graph(%x : int):\\n  return (%x)\\n"))
        class Argument:
            def __index__(self):
                step()
                return code(self)
            def __repr__(self):
                step()
                return str(code(self))
        go = lambda: code(Argument())
    """,
    "a compiled function": """
        from opyard import jit
        import warnings
        warnings.simplefilter("ignore")
        @jit.compile
        def f(a):
            step()
            return f(a) + 1
        go = lambda: f(x)
    """,
    "compiling in a compiled function": """
        from opyard import jit
        import warnings
        warnings.simplefilter("ignore")
        def f(a):
            step()
            return jit.compile(f)(a) + 1
        go = lambda: jit.compile(f)(x)
    """,
    # Futures
    "a callback of a future": """
        def go():
            future = opyard.futures.Future()
            future.add_done_callback(called)
            future.set_result(1)
        def called(_):
            step()
            go()
        sys.unraisablehook = lambda unraisable: raised.append(unraisable.exc_type)
    """,
    "a callback of a future that is done": """
        future = opyard.futures.Future()
        future.set_result(1)
        def go():
            future.then(called).wait()
        def called(_):
            step()
            go()
    """,
    "an argument of a future": """
        class Given:
            def __float__(self):
                step()
                opyard.futures.Future().wait(self)
                return 1.0
        go = lambda: opyard.futures.Future().wait(Given())
    """,
    "collect_all": """
        class Given:
            def __iter__(self):
                step()
                opyard.futures.collect_all(self)
            def __len__(self):
                return 1
            def __getitem__(self, i):
                step()
                opyard.futures.collect_all(self)
        go = lambda: opyard.futures.collect_all(Given())
    """,
    # Registering and looking up
    "a listener for operators": """
        libraries = []
        def told(op):
            if op.name().startswith("deep"):
                step()
                define()
        def define():
            libraries.append(opyard.library.Library(f"deep{len(libraries)}", "DEF"))
            libraries[-1].define("f(Tensor x) -> Tensor")
        listening = opyard.dispatch.on_registration(told)
        go = define
    """,
    "a reporter of missing kernels": """
        lib.define("f(Tensor x) -> Tensor")
        def report(key):
            step()
            opyard.ops.deep.f(x)
        opyard.dispatch.set_report_error_callback(opyard.ops.deep.f, report)
        go = lambda: opyard.ops.deep.f(x)
    """,
    "get_dispatch": """
        lib.define("f(Tensor x) -> Tensor")
        lib.impl("f", lambda a: a, "CPU")
        def kernel(a):
            step()
            return opyard.ops.deep.f(a)
        opyard.ops.deep.f.default.py_impl("CPU")(kernel)
        def go():
            with opyard.dispatch.enable_python_dispatcher():
                opyard.ops.deep.f(x)
    """,
    "a device": """
        class Number:
            def __index__(self):
                step()
                return opyard.device("cpu", self).index
        go = lambda: opyard.device("cpu", Number())
    """,
    "a custom operator": """
        @opyard.library.custom_op("deep::custom", mutates_args=())
        def custom(a: opyard.Tensor) -> opyard.Tensor:
            step()
            return custom(a)
        go = lambda: custom(x)
    """,
    "a fake kernel": """
        lib.define("f(Tensor x) -> Tensor")
        def fake(a):
            step()
            return opyard.ops.deep.f(a)
        opyard.library.register_fake("deep::f", fake, lib=lib)
        m = opyard.ops.aten.zeros([2], device="meta")
        go = lambda: opyard.ops.deep.f(m)
    """,
    "a captured context": """
        context = opyard.capture_context()
        def f():
            step()
            context.run(f)
        go = lambda: context.run(f)
    """,
    "a function that begins with a handler off": """
        def f(*_):
            step()
            opyard.dispatch.disabled_dispatch(f, (), (), {})
        go = lambda: opyard.dispatch.disabled_dispatch(f, (), (), {})
    """,
    "an operator of higher order": """
        higher = opyard.dispatch.HigherOrderOperator("deep_higher")
        @higher.py_impl("CPU")
        def kernel(f, a):
            step()
            return higher(f, a)
        go = lambda: higher(len, x)
    """,
    # Numbers that are not known
    "a symbolic number": """
        class Node:
            def is_int(self): return True
            def is_float(self): return False
            def is_bool(self): return False
            def __str__(self):
                step()
                return str(aten.zeros([opyard.SymInt(self)]))
            def wrap_int(self, n): return self
            def guard_int(self, file, line):
                step()
                return int(opyard.SymInt(self))
            def __getattr__(self, name):
                if name.startswith("__"): raise AttributeError(name)
                def method(*args):
                    step()
                    return aten.zeros([opyard.SymInt(self)], device="meta")
                return method
        n = opyard.SymInt(Node())
        go = lambda: aten.zeros([n])
    """,
    # Profiles
    "a profile with values": """
        from opyard import profiler
        class Argument:
            def __index__(self):
                step()
                return aten.full([self], 1.0).size(0)
        def go():
            with profiler.profile(record_shapes=True, with_stack=True):
                aten.full([Argument()], 1.0)
    """,
}


# What ends otherwise: nothing of the level before is on the stack then.
OTHERWISE = {"a callback of a future": "Enough"}


@plain_build
@pytest.mark.parametrize("way", WAYS)
def test_B10_a_function_that_leads_back_to_cpp_raises_before_the_stack_ends(way):
    check_deep(WAYS[way], OTHERWISE.get(way, "RecursionError"))
