"""test_leaks.py (T16): no public function leaves anything behind, whether it works or fails.

A scenario is a step that is repeated in rounds; CPython's own rule says what a leak is: memory
blocks that are left in every one of five rounds after three to warm up. Every name that the package
exports has a scenario. Suspect the function that the scenario calls.
"""

import asyncio
import copy
import gc
import inspect
import os
import pickle
import sys

import numpy
import pytest
from built import plain_build, plugin_path
from gradient_steps import by_functional, forward_steps
from leak_composites import composed, operators_loaded
from leak_steps import (
    Broken,
    Handled,
    Mode,
    N,
    Node,
    Quota,
    Sub,
    X,
    as_error,
    attributes,
    autocast,
    averaged,
    broken_override,
    chained,
    clipped,
    custom,
    custom_again,
    custom_by_device,
    custom_refused,
    declined,
    differentiated,
    effects,
    failed_future,
    fails,
    faked,
    filled,
    graphs,
    higher_order,
    in_layers,
    in_mode,
    in_ring,
    in_scope,
    infer,
    library_of,
    listening,
    made_again,
    observed,
    ops,
    optimized,
    out_of_band,
    overridden,
    overridden_in_stacks,
    profiled,
    python_ops,
    quiet,
    registered,
    reported,
    sampled,
    saved,
    scheduled,
    thread,
    with_class_rule,
    with_rule,
    with_slots,
    wrapper,
)
from processes import REPEAT, leaks
from remote_steps import close_workers, remote_calls, remote_values

import opyard
import opyard.dispatch as d
import opyard.futures as f
import opyard.library as lib
import opyard.schema as s
import opyard.testing as t


@pytest.fixture(scope="module", autouse=True)
def library(plugin):
    made = lib.Library("leaks", "FRAGMENT")
    made.define('op(Tensor x, int n=1, *, str s="") -> Tensor')
    made.define("pair(Tensor x, float[] n) -> (Tensor, int)")
    made.define("bare(Tensor x) -> Tensor")
    made.define("any(Any a) -> Any")
    made.define("one(Tensor x) -> Tensor")
    made.impl("one", lambda x: x, "CPU")
    made.impl("op", lambda x, n=1, *, s="": x, "CPU")
    made.impl("pair", lambda x, n: (x, 1), "CPU")
    made.impl("any", lambda a: a)
    made.define("symbolic(SymInt[] n) -> SymInt[]")
    made.impl("symbolic", lambda n: n)
    yield made
    close_workers()
    made._destroy()


LOOP = asyncio.new_event_loop()


async def awaited():
    future = f.Future()
    future.set_result(3)
    return await future


def array_functions():
    xp = opyard.array_api
    x = xp.asarray([[1.0, 2.0], [3.0, 5.0]])
    xp.unique_all(xp.clip(xp.add(xp.exp(x), 1), 0, max=x))
    xp.mean(xp.linalg.inv(x), axis=0), xp.fft.fft(x), xp.meshgrid(x[0], x[1]), xp.finfo(x)
    x.__array_namespace__().__array_namespace_info__().dtypes()
    (xp.asarray([1, 2]) << 1).to_device("cpu")
    numpy.sum(numpy.maximum(x, 2.0), axis=1), numpy.histogram(x), complex(x[0, 0])
    fails(TypeError, numpy.cbrt, x)


def classes_of(module):
    """Its public names, without its submodules."""
    return [name for name in module.__all__ if not inspect.ismodule(getattr(module, name))]


SCENARIOS = {
    # custom operators
    "library.custom_op": custom,
    "library.custom_op again": custom_again,
    "library.custom_op by device": custom_by_device,
    "library.custom_op refused": custom_refused,
    "library.CustomOpDef": lambda: fails(RuntimeError, lib.CustomOpDef.__new__(lib.CustomOpDef)),
    "library.scoped_library": in_scope,
    "library.define refused": lambda: fails(ValueError, lib.define, "leaks", "(Tensor x) -> ()"),
    "library.define": lambda: fails(RuntimeError, lib.define, "leaks::op", "(Tensor x) -> ()"),
    "library.impl": lambda: fails(ValueError, lib.impl, "leaks::op", ["cpu", "nowhere"], len),
    "library.impl a decorator": lambda: lib.impl("leaks::op", "cpu"),
    "library.register_kernel": lambda: fails(
        TypeError, lib.register_kernel, "leaks::op", "cpu", 3),
    "library.register_autograd": lambda: fails(
        TypeError, lib.register_autograd, "leaks::op", 3),
    "library.register_vmap": lambda: fails(
        NotImplementedError, lib.register_vmap, "leaks::op", len),
    "library.register_autocast": lambda: fails(
        TypeError, lib.register_autocast, "leaks::op", "cpu", "float64"),
    "library.register_effect": effects,
    "library.effect_of": lambda: lib.effect_of("leaks::op"),
    "library.EffectType": lambda: pickle.loads(pickle.dumps(lib.EffectType.ORDERED)),
    "opyard.autocast": autocast,
    # fake kernels
    "library.register_fake": faked,
    "library.register_fake refused": lambda: fails(ValueError, lib.register_fake, 3),
    "library.get_ctx": lambda: fails(RuntimeError, lib.get_ctx),
    # devices
    "gpu_trace.CallbackRegistry": lambda: opyard.gpu_trace.CallbackRegistry("a").fire_callbacks(),
    **{
        f"gpu_trace.{name}": lambda name=name: registered(name)
        for name in opyard.gpu_trace.__all__
        if name.startswith("register_")
    },
    # tensors
    "opyard.Layout": lambda: X.layout is opyard.Layout.strided,
    "opyard.Tensor.make_wrapper_subclass": wrapper,
    "opyard.SymInt": lambda: (N + 1, 2 * N, ops.symbolic([1, N])),
    "opyard.SymFloat": lambda: repr(opyard.SymFloat(Node())),
    "opyard.SymBool": lambda: fails(AttributeError, lambda: ~opyard.SymBool(Node())),
    "opyard.tensor": lambda: opyard.tensor([[1, 2.5], [True, X[0]]]),
    "opyard.arange": lambda: opyard.arange(3),
    "opyard.cat": lambda: opyard.cat([X, X]),
    "opyard.empty": lambda: opyard.empty(2, 3),
    "opyard.eye": lambda: opyard.eye(2),
    "opyard.full": lambda: opyard.full([2], 1.5),
    "opyard.ones": lambda: opyard.ones(2),
    "opyard.ones that require a gradient": lambda: opyard.ones(2, requires_grad=True),
    "opyard.rand": lambda: opyard.rand(2),
    "opyard.randn": lambda: opyard.randn(2, dtype=opyard.float64),
    "opyard.stack": lambda: opyard.stack([X, X]),
    "opyard.where": lambda: opyard.where(X > 1, X, X),
    "opyard.zeros": lambda: opyard.zeros(2, dtype=opyard.int64),
    "opyard.zeros refused": lambda: fails(ValueError, opyard.zeros, -1),
    "opyard.tensor refused": lambda: fails(ValueError, opyard.tensor, [[1], [X, X]]),
    "opyard.from_numpy": lambda: opyard.from_numpy(bytearray(8)),
    "opyard.from_numpy refused": lambda: fails(TypeError, opyard.from_numpy, 3),
    "opyard.from_dlpack": lambda: opyard.from_dlpack(X),
    "opyard.from_dlpack refused": lambda: fails(TypeError, opyard.from_dlpack, 3),
    "opyard.Tensor methods": lambda: (X.sum(), X.relu, X.tolist(), X.size(0), X.T, repr(X)),
    "opyard.Tensor arithmetic": lambda: (X + X, 2 * X, X == X, X[1:], X[X > 1], -X),
    "opyard.Tensor refused": lambda: fails(TypeError, lambda: X + object()),
    "opyard.Tensor wrong index": lambda: fails(IndexError, lambda: X[7]),
    "opyard.Tensor no attribute": lambda: fails(AttributeError, lambda: X.no_such),
    "opyard.Tensor not called": lambda: fails(TypeError, opyard.Tensor),
    "opyard.Tensor attributes": attributes,
    "opyard.Tensor subclass": lambda: Sub(X),
    "opyard.Tensor subclass with slots": with_slots,
    "opyard.Tensor as_subclass": lambda: (X + 1).as_subclass(Sub),
    "opyard.Tensor copy": lambda: (copy.copy(X), copy.deepcopy([X, X])),
    "opyard.Tensor pickle": lambda: pickle.loads(pickle.dumps(X)),
    "opyard.Tensor pickle 2": lambda: pickle.loads(pickle.dumps(X, 2)),
    "opyard.Tensor out of band": out_of_band,
    "opyard.Tensor buffer": lambda: memoryview(X)[1:].tolist(),
    "opyard.device": lambda: (opyard.device("cuda", 1), repr(opyard.device("cpu"))),
    "opyard.device refused": lambda: fails(ValueError, opyard.device, "nowhere"),
    "opyard.dtype": lambda: (repr(opyard.int8), pickle.loads(pickle.dumps(opyard.int8))),
    "opyard.dtype refused": lambda: fails(TypeError, opyard.dtype),
    "opyard.Tag": lambda: list(opyard.Tag),
    # calls
    "opyard.ops": lambda: (ops.op(X), ops.op(X, 2, s="a"), ops.pair(X, [1, 2.0])),
    "opyard.ops by keyword": lambda: ops.op(n=1, x=X),
    "opyard.ops missing": lambda: fails(TypeError, ops.op),
    "opyard.ops wrong type": lambda: fails(TypeError, ops.op, "text"),
    "opyard.ops unknown keyword": lambda: fails(TypeError, ops.op, X, bogus=1),
    "opyard.ops no kernel": lambda: fails(NotImplementedError, ops.bare, X),
    "opyard.ops no name": lambda: fails(AttributeError, lambda: opyard.ops.leaks.no_such),
    "opyard.ops any": lambda: ops.any([{"a": object()}, (1, "b"), None]),
    "opyard.ops redispatch": lambda: ops.op.default.redispatch(d.DispatchKeySet("CPU"), X),
    "opyard.ops from C++": lambda: opyard.ops.test_plugin.call("leaks::one", X),
    "opyard.ops in a thread": thread,
    "opyard.ops attributes": lambda: (
        ops.op.default.tags, ops.op.default._schema, ops.op.overloads(), str(ops.op.default),
        copy.copy(ops.op), pickle.loads(pickle.dumps(ops.op.default))),
    "opyard.load_library": lambda: opyard.load_library(plugin_path("opyard_test_plugin")),
    "opyard.load_library refused": lambda: fails(OSError, opyard.load_library, "/no/such.so"),
    "opyard.unload_library": lambda: fails(LookupError, opyard.unload_library, "/no/such.so"),
    "opyard.loaded_libraries": opyard.loaded_libraries,
    "opyard.register_error": lambda: opyard.register_error("leaks.Quota", Quota),
    "opyard.register_error raised": lambda: fails(
        Quota, opyard.ops.test_plugin.fail_as, "leaks.Quota", "no"),
    "opyard.register_error refused": lambda: fails(TypeError, opyard.register_error, int),
    "opyard.set_warn_always": lambda: opyard.set_warn_always(False),
    "opyard.set_warn_always warning": lambda: quiet(opyard.ops.test_plugin.warn, 0, "quiet"),
    "opyard.set_warn_always warning as error": lambda: as_error(
        opyard.ops.test_plugin.warn, 0, "an error"),
    "opyard.set_warn_always warning and error": lambda: quiet(
        fails, ValueError, opyard.ops.test_plugin.warn_and_fail, "quiet", "no"),
    # library
    "library.Library": library_of,
    "library.Library made again": made_again,
    "library.Library define": lambda: library_of("FRAGMENT"),
    "library.Library refused": lambda: fails(ValueError, lib.Library, "leaks", "ALL"),
    "library.Library bad schema": lambda: fails(
        ValueError, lib.Library("leaks", "FRAGMENT").define, "f(Tensor x -> Tensor"),
    "library.override": overridden,
    "library.override refused": lambda: fails(
        LookupError, lib.override, "leaks::nope", "CPU", lambda x: x),
    "library.override in stacks": overridden_in_stacks,
    "library.override raising": broken_override,
    "library.override in part": lambda: fails(
        LookupError, lib.override, "leaks::op", ["CPU", "Cpu"], lambda x: x),
    "library.opcheck": lambda: lib.opcheck(
        "leaks::any", ([X, X[:2], (X, {"a": X})],), raise_exception=False),
    "library.opcheck refused": lambda: fails(
        ValueError, lib.opcheck, "leaks::op", (X,), test_utils="nothing"),
    "library.OpCheckError": lambda: fails(lib.OpCheckError, lib.opcheck, "leaks::bare", (X,)),
    "library.load_plugins": lambda: fails(LookupError, lib.load_plugins, "nobody_brings_this"),
    "library.fallthrough_kernel": lambda: fails(NotImplementedError, lib.fallthrough_kernel),
    "library.infer_schema": lambda: lib.infer_schema(infer, mutates_args=["x"]),
    "library.infer_schema refused": lambda: fails(
        ValueError, lib.infer_schema, infer, mutates_args=["n"]),
    "library.CFunction": lambda: opyard.ops.test_plugin.count_released.default.c_function(),
    "library.composite": composed,
    "library.load_operators": operators_loaded,
    "library.c_prototype": lambda: fails(LookupError, lib.c_prototype, "leaks::nope"),
    "library.load_library": opyard.loaded_libraries,
    "library.loaded_libraries": lib.loaded_libraries,
    "library.unload_library": lambda: fails(LookupError, lib.unload_library, "/no/such.so"),
    # schema
    "schema.parse": lambda: (str(s.parse("f(Tensor(a!) x, int[2] n=[1, 2]) -> Tensor(a!)"))),
    "schema.parse refused": lambda: fails(ValueError, s.parse, "f(Tensor x"),
    "schema.Schema": lambda: pickle.loads(pickle.dumps(s.parse("f(Tensor x) -> Tensor"))),
    "schema.Argument": lambda: (s.parse("f(int n=3) -> ()").arguments[0].default_value),
    "schema.AliasInfo": lambda: s.parse("f(Tensor(a!) x) -> ()").arguments[0].alias_info.before_set,
    "schema.Type": lambda: s.parse("f(int[] n) -> ()").arguments[0].type.elements,
    # dispatch
    "dispatch.DispatchKey": lambda: pickle.loads(pickle.dumps(d.DispatchKey.CPU)),
    "dispatch.DispatchKeySet": lambda: list(d.DispatchKeySet(["CPU", "Tracer"]).remove("Tracer")),
    "dispatch.DispatchKeySet refused": lambda: fails(LookupError, d.DispatchKeySet, "Cpu"),
    "dispatch.LayerGap": lambda: list(d.LayerGap),
    "dispatch.ModeKey": lambda: list(d.ModeKey),
    "dispatch.AutoDispatchBelowADInplaceOrView": lambda: in_mode(
        d.AutoDispatchBelowADInplaceOrView(), lambda: ops.op(X)),
    "dispatch.AutoDispatchBelowAutograd": lambda: in_mode(
        d.AutoDispatchBelowAutograd(), lambda: ops.op(X)),
    "dispatch.IncludeDispatchKeyGuard": lambda: in_mode(
        d.IncludeDispatchKeyGuard("Meta"), lambda: None),
    "dispatch.ExcludeDispatchKeyGuard": lambda: in_mode(
        d.ExcludeDispatchKeyGuard("AutogradCPU"), lambda: ops.op(X)),
    "dispatch.ForceDispatchKeyGuard": lambda: in_mode(
        d.ForceDispatchKeyGuard(d.DispatchKeySet("CPU"), d.DispatchKeySet()), lambda: ops.op(X)),
    "dispatch.PreserveDispatchKeyGuard": lambda: in_mode(
        d.PreserveDispatchKeyGuard(), lambda: None),
    "dispatch.SetExcludeDispatchKeyGuard": lambda: in_mode(
        d.SetExcludeDispatchKeyGuard("Tracer", True), lambda: ops.op(X)),
    "dispatch.DispatchMode": lambda: in_mode(Mode(), lambda: ops.op(X)),
    "dispatch.DispatchMode raising": lambda: fails(KeyError, in_mode, Broken(), lambda: ops.op(X)),
    "dispatch.push_mode": lambda: (d.push_mode(Mode()), d.pop_mode()),
    "dispatch.pop_mode": lambda: fails(Exception, d.pop_mode),
    "dispatch.pop_mode_temporarily": lambda: in_mode(
        Mode(), lambda: in_mode(d.pop_mode_temporarily(), lambda: ops.op(X))),
    "dispatch.disable_current_modes": lambda: in_mode(
        Mode(), lambda: in_mode(d.disable_current_modes(), lambda: ops.op(X))),
    "dispatch.get_mode": lambda: [d.get_mode(key) for key in d.ModeKey],
    "dispatch.get_current_dispatch_mode": d.get_current_dispatch_mode,
    "dispatch.get_current_dispatch_mode_stack": lambda: in_mode(
        Mode(), d.get_current_dispatch_mode_stack),
    "dispatch.len_dispatch_mode_stack": d.len_dispatch_mode_stack,
    "dispatch.ComputedKernel": lambda: d.computed_kernel(ops.op.default, "CPU"),
    "dispatch.computed_kernel": lambda: str(d.computed_kernel("leaks::op", "CPU")),
    "dispatch.computed_kernel refused": lambda: fails(
        LookupError, d.computed_kernel, ops.bare.default, "CUDA"),
    "dispatch.DispatchLog": lambda: in_mode(d.DispatchLog(), lambda: None),
    "dispatch.set_dispatch_log": lambda: d.set_dispatch_log(False),
    "dispatch.Explanation": lambda: str(d.explain(ops.op, X)),
    "dispatch.explain": lambda: d.explain(ops.op, X),
    "dispatch.explain refused": lambda: fails(TypeError, d.explain, 3),
    "dispatch.would_dispatch": lambda: d.would_dispatch(ops.op, X),
    "dispatch.WhatIf": lambda: str(d.what_if("leaks::op", "CUDA")),
    "dispatch.TableChange": lambda: repr(d.what_if("leaks::op", "CUDA")),
    "dispatch.what_if": lambda: d.what_if("leaks::op", "CUDA"),
    "dispatch.History": lambda: str(d.history())[:10],
    "dispatch.RegistryEvent": lambda: d.history()[-1:],
    "dispatch.history": lambda: len(d.history()),
    "dispatch.PythonDispatcher": lambda: d.PythonDispatcher().register(["CPU"]),
    "dispatch.RegistrationHandle": listening,
    "dispatch.on_registration": listening,
    "dispatch.on_registration refused": lambda: fails(TypeError, d.on_registration, 3),
    "dispatch.check_invariants": d.check_invariants,
    "dispatch.check_writes": lambda: in_mode(
        d.check_writes(sample=1), lambda: opyard.ops.aten.neg(X)),
    "dispatch.provenance": lambda: d.provenance("leaks::op", "CPU"),
    "dispatch.alias_analysis": lambda: d.alias_analysis("leaks::op"),
    "dispatch.operator_names": d.operator_names,
    "dispatch.operators_at": lambda: d.operators_at("CPU"),
    "dispatch.dangling": d.dangling,
    "dispatch.dump": lambda: d.dump("leaks::op"),
    "dispatch.dump_table": lambda: d.dump_table("leaks::op"),
    "dispatch.has_computed_kernel": lambda: d.has_computed_kernel("leaks::op", "CPU"),
    "dispatch.has_fallback": lambda: d.has_fallback("CPU"),
    "dispatch.has_kernel": lambda: d.has_kernel("leaks::op"),
    "dispatch.has_kernel_for_any": lambda: d.has_kernel_for_any("leaks::op", ["CPU"]),
    "dispatch.is_fallthrough": lambda: d.is_fallthrough("leaks::op", "CPU"),
    "dispatch.keys_of": lambda: d.keys_of(X),
    "dispatch.metadata": lambda: d.metadata("leaks::op"),
    "dispatch.register_backend": lambda: fails(ValueError, d.register_backend, "cuda"),
    "dispatch.register_layer": lambda: fails(ValueError, d.register_layer, "mine", "Below"),
    "dispatch.rename_backend": lambda: fails(RuntimeError, d.rename_backend, "CUDA", "mine"),
    "dispatch.set_report_error_callback": reported,
    "dispatch.tls_is_dispatch_key_excluded": lambda: d.tls_is_dispatch_key_excluded("CPU"),
    "dispatch.tls_is_dispatch_key_included": lambda: d.tls_is_dispatch_key_included("CPU"),
    "dispatch.tls_local_exclude_set": d.tls_local_exclude_set,
    "dispatch.tls_local_include_set": d.tls_local_include_set,
    "dispatch.tls_set_dispatch_key_excluded": lambda: d.tls_set_dispatch_key_excluded("CPU", False),
    "dispatch.tls_set_dispatch_key_included": lambda: d.tls_set_dispatch_key_included("CPU", False),
    "dispatch.skip": lambda: in_mode(d.skip("AutogradFunctionality"), lambda: ops.op(X)),
    "dispatch.no_dispatch": lambda: in_mode(d.no_dispatch(), lambda: ops.op(Sub(X))),
    "dispatch.disabled_dispatch": lambda: d.disabled_dispatch,
    "opyard.ops handled by a class": lambda: ops.op(Handled(X), n=2, s="a"),
    "opyard.ops declined by a class": declined,
    "opyard.ops with a rule": with_rule,
    "dispatch.HigherOrderOperator": higher_order,
    "library.register_opyard_dispatch": with_class_rule,
    "dispatch.resolve_key": lambda: d.resolve_key("leaks::op", "CPU"),
    "dispatch.resolve_key refused": lambda: fails(
        NotImplementedError, d.resolve_key, "leaks::op", "Meta"),
    "dispatch.enable_python_dispatcher": lambda: in_mode(
        d.enable_python_dispatcher(), lambda: ops.op(X)),
    "dispatch.no_python_dispatcher": lambda: in_mode(
        d.no_python_dispatcher(), lambda: ops.op(X)),
    "opyard.array_api": array_functions,
    "opyard.capture_context": lambda: opyard.capture_context().run(ops.op, X),
    "testing.LoggingTensor": lambda: ops.op(t.LoggingTensor(X, t.CallLog())),
    # futures
    "futures.Future": chained,
    "futures.Future failed": failed_future,
    "futures.Future cancelled": lambda: f.Future().cancel(),
    "futures.Future awaited": lambda: LOOP.run_until_complete(awaited()),
    "futures.Future from C++": lambda: opyard.ops.test_plugin.later(0, 5).wait(),
    "futures.CancelledError": lambda: f.CancelledError("text"),
    "futures.collect_all": lambda: f.collect_all([opyard.ops.test_plugin.later(0, 5)] * 2).wait(),
    "futures.collect_any": lambda: f.collect_any([opyard.ops.test_plugin.later(0, 5)]).wait(),
    "futures.from_concurrent": lambda: f.from_concurrent(opyard.futures.Future().as_concurrent()),
    "futures.wait_all": lambda: f.wait_all([opyard.ops.test_plugin.later(0, 5)]),
    # jit
    **{f"jit.{name}": graphs for name in opyard.jit.__all__ if name != "create_python_op"},
    "jit.create_python_op": python_ops,
    "jit.parse_ir refused": lambda: fails(ValueError, opyard.jit.parse_ir, "graph("),
    # autograd
    **{f"autograd.{name}": differentiated for name in opyard.autograd.__all__},
    **{
        f"autograd.forward_ad.{name}": forward_steps
        for name in opyard.autograd.forward_ad.__all__
    },
    **{
        f"autograd.functional.{name}": lambda name=name: by_functional(name)
        for name in opyard.autograd.functional.__all__
    },
    "autograd.forward_ad refused": lambda: fails(
        ValueError, opyard.autograd.forward_ad.make_dual, X, X),
    **{
        f"opyard.{name}": differentiated
        for name in ("enable_grad", "inference_mode", "is_grad_enabled", "no_grad")
    },
    "opyard.set_grad_enabled": differentiated,
    "autograd.backward refused": lambda: fails(ValueError, opyard.autograd.backward, X),
    # modules
    **{f"nn.{name}": lambda name=name: in_layers(name) for name in classes_of(opyard.nn)},
    **{f"optim.{name}": lambda name=name: optimized(name) for name in classes_of(opyard.optim)},
    **{
        f"optim.lr_scheduler.{name}": lambda name=name: scheduled(name)
        for name in opyard.optim.lr_scheduler.__all__
        if name != "LRScheduler"
    },
    "optim.swa_utils": averaged,
    "optim.swa_utils.SWALR": lambda: scheduled("SWALR"),
    "nn.utils": clipped,
    "nn.init": filled,
    "opyard.save": saved,
    "opyard.load": lambda: fails(OSError, opyard.load, "/no/such.safetensors"),
    "opyard.manual_seed": lambda: opyard.manual_seed(3),
    "opyard.Generator": lambda: opyard.rand(2, generator=opyard.Generator().manual_seed(3)),
    # profiler
    "profiler.profile": profiled,
    "profiler.record_function": profiled,
    "profiler.schedule": lambda: opyard.profiler.schedule(wait=1, warmup=1, active=1)(3),
    "profiler.ProfilerAction": lambda: opyard.profiler.ProfilerAction.NONE,
    "profiler.ProfilerActivity": lambda: opyard.profiler.ProfilerActivity.CPU,
    "profiler.RecordScope": lambda: opyard.profiler.RecordScope(1),
    "profiler.flight_recorder": in_ring,
    "profiler.observe": observed,
    "profiler.active": opyard.profiler.active,
    "profiler.sample": sampled,
    "profiler.active_sample": opyard.profiler.active_sample,
    "profiler.stop_active": opyard.profiler.stop_active,
    "profiler.active_recorder": opyard.profiler.active_recorder,
    "profiler.active_observers": opyard.profiler.active_observers,
    "profiler.watch_future": lambda: opyard.profiler.watch_future(opyard.futures.Future(), "f"),
    "profiler.show_instances": lambda: opyard.profiler.show_instances,
    "profiler.tensorboard_trace_handler": lambda: opyard.profiler.tensorboard_trace_handler,
    # resources
    "memory.stats": lambda: opyard.memory.stats(),
    "memory.empty_cache": lambda: opyard.memory.empty_cache(),
    "opyard.get_num_threads": lambda: opyard.get_num_threads(),
    "opyard.set_num_threads": lambda: opyard.set_num_threads(opyard.get_num_threads()),
    # testing
    "testing.CallLog": t.CallLog,
    "testing.FileCheck": lambda: t.FileCheck().check("a").run("a b"),
    "testing.LoggingMode": lambda: in_mode(t.LoggingMode(), lambda: ops.op(X)),
    # workers
    "remote.session": lambda: fails(ValueError, opyard.remote.session, "nowhere"),
    "remote.Session": remote_calls,
    "remote.Ref": remote_values,
    "remote.put": lambda: fails(RuntimeError, opyard.remote.put, 1),
    "remote.rank": lambda: fails(RuntimeError, opyard.remote.rank),
    "remote.size": lambda: fails(RuntimeError, opyard.remote.size),
    "remote.all_reduce": lambda: fails(RuntimeError, opyard.remote.all_reduce, []),
    "remote.WorkerLost": lambda: opyard.remote.WorkerLost("it ended"),
    "remote.SessionClosed": lambda: opyard.remote.SessionClosed("it was closed"),
    "remote.RemoteError": lambda: opyard.remote.RemoteError("of a class that is not here"),
    "remote.RemoteTraceback": lambda: str(opyard.remote.RemoteTraceback("lines")),
    "remote.Origin": lambda: opyard.remote.Origin(0, "f", None, "ValueError", "no", "lines"),
}  # fmt: skip

MODULES = {
    "opyard": opyard, "library": lib, "dispatch": d, "schema": s, "futures": f, "testing": t,
    "gpu_trace": opyard.gpu_trace, "jit": opyard.jit, "profiler": opyard.profiler,
    "autograd": opyard.autograd, "memory": opyard.memory,
    "nn": opyard.nn, "optim": opyard.optim, "remote": opyard.remote,
}  # fmt: skip
# Neither is a function: constants and submodules.
PLAIN = {
    "__version__",
    *MODULES,
    *("forward_ad", "functional", "init", "utils", "lr_scheduler", "swa_utils"),
    *(n for n, v in vars(opyard._C).items() if type(v) is opyard.dtype),
}


def exported():
    for name, module in MODULES.items():
        yield from (f"{name}.{each}" for each in module.__all__ if each not in PLAIN)


@pytest.mark.parametrize("scenario", SCENARIOS)
def test_T16_nothing_is_left(scenario):
    assert leaks(SCENARIOS[scenario]) is None


def test_T16_every_exported_name_has_a_scenario():
    named = {scenario.partition(" ")[0] for scenario in SCENARIOS}
    assert {*exported(), "opyard.ops"} - named == set()
    assert len(SCENARIOS) >= 60


def test_T16_no_file_and_no_mapping_is_left():
    def opened():
        with open("/proc/self/maps") as maps:
            return len(os.listdir("/proc/self/fd")), len(maps.readlines())

    steps = [step for name, step in SCENARIOS.items() if "future" not in name]
    counts = []
    for _ in range(4):
        for step in steps:
            step()
        gc.collect()
        counts.append(opened())
    assert counts[-1][0] <= counts[0][0]
    assert counts[-1][1] <= counts[0][1] + 8  # arenas of the allocator


kept: list = []
PLANTED = {
    "a list": lambda: kept.append([]),
    "a reference": lambda: sys.intern(f"leaked {len(kept)}") and kept.append(object()),
    "a tensor": lambda: kept.append(opyard.tensor([1])),
}


@plain_build
@pytest.mark.parametrize("plant", PLANTED)
def test_T16_a_planted_leak_is_found(plant):
    """The control: one block a round's step is seen."""
    try:
        deltas = leaks(PLANTED[plant])
        assert deltas is not None and min(deltas) >= REPEAT
    finally:
        kept.clear()
