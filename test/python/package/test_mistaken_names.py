"""test_mistaken_names.py: misspelt operators, keys, keywords and files, where each is looked up.

Suspect _core/ops.py (undefined()), _core/queries.py, _core/keywords.py, _library/refusals.py, and
the module of the function.
"""

import gc
import operator
import pkgutil
import subprocess
import sys
import warnings

import pytest

import opyard
from opyard import dispatch, ops, profiler
from opyard.library import Library, override

pytestmark = pytest.mark.once

x = opyard.tensor([1.0, 2.0])

# What each of them says of an operator, by its name and with a key if it takes one.
ASKED = {
    "alias_analysis": dispatch.alias_analysis,
    "check_invariants": dispatch.check_invariants,
    "computed_kernel": lambda op: dispatch.computed_kernel(op, "CPU"),
    "dump_table": dispatch.dump_table,
    "explain": lambda op: dispatch.explain(op, x),
    "has_computed_kernel": lambda op: dispatch.has_computed_kernel(op, "CPU"),
    "history": dispatch.history,
    "is_fallthrough": lambda op: dispatch.is_fallthrough(op, "CPU"),
    "metadata": dispatch.metadata,
    "override": lambda op: override(op, "CPU", len).remove(),
    "provenance": dispatch.provenance,
    "provenance at a key": lambda op: dispatch.provenance(op, "CPU"),
    "resolve_key": lambda op: dispatch.resolve_key(op, "CPU"),
    "what_if": lambda op: dispatch.what_if(op, "CPU"),
    "would_dispatch": lambda op: dispatch.would_dispatch(op, x),
}
WRONG = {
    "aten::rellu": "operator aten::rellu does not exist; 'relu' may be meant",
    "relu": "operator relu does not exist: a name begins with a namespace, as in aten::relu; "
    "'aten::relu' may be meant",
    "aten.relu": "operator aten.relu does not exist: a name begins with a namespace, as in "
    "aten::relu; 'aten::relu' may be meant",
    "no_such_thing": "operator no_such_thing does not exist: a name begins with a namespace, as in "
    "aten::relu",
    "nowhere_at_all::f": "operator nowhere_at_all::f does not exist: no library defines operators "
    "of nowhere_at_all; load one with opyard.load_library(path), or import the package that has it",
}


@pytest.mark.parametrize("asked", ASKED)
@pytest.mark.parametrize("name", WRONG)
def test_an_operator_that_is_not_there_is_refused_in_one_way(asked, name):
    with pytest.raises(LookupError) as caught:
        ASKED[asked](name)
    assert str(caught.value) == WRONG[name]


def test_asking_whether_there_is_a_kernel_has_an_answer_for_every_operator():
    assert not dispatch.has_kernel("aten::rellu") and not dispatch.has_kernel("aten::rellu", "CPU")
    assert not dispatch.has_kernel_for_any("aten::rellu", ["CPU"])
    with pytest.raises(LookupError, match="a name begins with a namespace"):
        dispatch.has_kernel("relu")


NEEDS_ONE = ["alias_analysis", "computed_kernel", "is_fallthrough", "metadata", "provenance"]


@pytest.mark.parametrize("asked", [*NEEDS_ONE, "has_computed_kernel", "resolve_key", "what_if"])
def test_the_name_of_several_overloads_is_refused_with_theirs(asked):
    with pytest.raises(LookupError, match=r"aten::mul has no overload 'default'; it has: Tensor, "):
        ASKED[asked]("aten::mul")


@pytest.mark.parametrize("asked", ASKED)
def test_an_overload_that_is_not_there_is_refused_with_those_that_are(asked):
    with pytest.raises(LookupError, match=r"^aten::mul has no overload 'Tensr'; it has: Tensor, "):
        ASKED[asked]("aten::mul.Tensr")


def test_dumps_of_several_overloads_name_each():
    names = [f"aten::mul.{each}" for each in ops.aten.mul.overloads()]
    table = dispatch.dump_table("aten::mul")
    assert table == dispatch.dump_table(ops.aten.mul)
    assert [line for line in table.splitlines() if ":: " not in line and line in names] == names
    assert table == "".join(f"{name}\n{dispatch.dump_table(name)}" for name in names)
    assert dispatch.dump("aten::mul") == "".join(map(dispatch.dump, names))
    assert not dispatch.dump_table("aten::relu").startswith("aten::relu\n")
    dispatch.check_invariants("aten::mul")


def test_what_was_unregistered_is_remembered():
    with Library("mistaken_gone", "FRAGMENT") as library:
        library.define("f.a(Tensor x) -> Tensor")
        assert len(dispatch.history("mistaken_gone::f")) == 1
    assert [event.added for event in dispatch.history("mistaken_gone::f")] == [True, False]
    assert len(dispatch.history("mistaken_gone::f.a")) == 2
    assert dispatch.dump("mistaken_gone::f.a") == dispatch.dump_table("mistaken_gone::f.a") == ""
    with pytest.raises(LookupError, match=r"operator mistaken_gone::f\.b does not exist"):
        dispatch.history("mistaken_gone::f.b")


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a lookup would cost all others a call")
def test_a_key_that_is_not_there_names_the_near_one():
    with pytest.raises(AttributeError) as caught:
        _ = dispatch.DispatchKey.CUP
    assert str(caught.value) == "DispatchKey has no key 'CUP'; 'CPU' may be meant"
    assert not hasattr(dispatch.DispatchKey, "__wrapped__")


class Own(opyard.Tensor):
    """A subclass, which the error names as CPython would."""


@pytest.mark.parametrize(
    ("given", "name", "meant"),
    [
        (x, "summ", "; 'sum' may be meant"),
        (x, "shapes", "; 'shape' may be meant"),
        (x, "backwards", "; 'backward' may be meant"),
        (x.as_subclass(Own), "relluu", "; 'relu' may be meant"),
        (x, "nothing_like_it", ""),
        (x, "_byte", ""),
        (x, "data", "; write x.detach() to read it, x.copy_(other) to change it"),
        (x, "nbytes", "; write x.numel() * x.element_size()"),
        (x, "astype", "; write x.to(dtype)"),
        (x, "type", "; write x.to(dtype) to convert it, x.dtype to ask"),
    ],
)
def test_an_attribute_that_a_tensor_has_not_names_the_near_one(given, name, meant):
    with pytest.raises(AttributeError) as caught:
        getattr(given, name)
    kind = "opyard.Tensor" if given is x else "Own"
    assert str(caught.value) == f"'{kind}' object has no attribute '{name}'{meant}"
    assert caught.value.name == name and caught.type.__name__ == "AttributeError"
    assert not hasattr(given, name) and getattr(given, name, 3) == 3


MODULES = {
    "nn": ("Lineer", "Linear"),
    "nn.functional": ("cros_entropy", "cross_entropy"),
    "nn.init": ("ones", "ones_"),
    "nn.utils": ("clip_grad_norm", "clip_grad_norm_"),
    "optim": ("Adm", "Adam"),
    "optim.lr_scheduler": ("StepLr", "StepLR"),
    "optim.swa_utils": ("AveragdModel", "AveragedModel"),
    "jit": ("loadd", "load"),
    "jit.passes": ("fus", "fuse"),
    "library": ("Librry", "Library"),
    "autograd": ("gradchek", "gradcheck"),
    "dispatch": ("explan", "explain"),
    "futures": ("Futur", "Future"),
    "profiler": ("profil", "profile"),
    "array_api": ("summ", "sum"),
    "testing": ("FileChek", "FileCheck"),
}


@pytest.mark.parametrize("name", MODULES)
def test_a_name_that_a_module_has_not_names_the_near_one(name):
    __import__(f"opyard.{name.partition('.')[0]}")
    module = operator.attrgetter(name)(opyard)
    wrong, meant = MODULES[name]
    with pytest.raises(AttributeError) as caught:
        getattr(module, wrong)
    assert str(caught.value) == (
        f"module {module.__name__!r} has no attribute {wrong!r}; {meant!r} may be meant"
    )
    assert not hasattr(module, "nothing_like_it") and getattr(module, wrong, 3) == 3


def public_modules():
    for found in pkgutil.walk_packages(opyard.__path__, "opyard."):
        if not any(part.startswith("_") for part in found.name.split(".")):
            yield found.name


# Modules that are reached as attributes alone, and the package itself.
NOT_IMPORTED = ["opyard", "opyard.array_api.fft", "opyard.array_api.linalg", "opyard.jit.passes"]


@pytest.mark.parametrize("name", [*public_modules(), *NOT_IMPORTED])
def test_every_public_module_names_the_near_one(name):
    module = operator.attrgetter(name.partition(".")[2])(opyard) if "." in name else opyard
    longest = max((each for each in module.__all__ if each[0] != "_"), key=len)
    with pytest.raises(AttributeError, match=f"'; '{longest}' may be meant"):
        getattr(module, longest[:-2] + longest[-1])


ELSEWHERE = {
    "Linear": "it is opyard.nn.Linear",
    "StepLR": "it is opyard.optim.lr_scheduler.StepLR",
    "publish": "it is opyard.jax.publish or opyard.torch.publish",
    "trace": "it is an operator: opyard.ops.aten.trace, or x.trace() of a tensor x; "
    "there is opyard.jit.trace, too",
    "maen": "'mean' may be meant, which is an operator: opyard.ops.aten.mean, or x.mean() of a "
    "tensor x",
    "models": "opyard.jit.load reads a model",
    "nn.Adam": "it is opyard.optim.Adam",
    "nn.softmin": "'Softmin' may be meant",
    "nn.init.xavier": "names that begin so are xavier_normal_, xavier_uniform_",
    "optim.logsumexp": "it is an operator: opyard.ops.aten.logsumexp, or x.logsumexp() of a tensor "
    "x",
    "nothing_like_it": "",
    "nn.nothing_like_it": "",
    "_private": "",
}


@pytest.mark.parametrize("name", ELSEWHERE)
def test_a_name_that_another_place_has_is_shown_there(name):
    module, _, last = f"opyard.{name}".rpartition(".")
    with pytest.raises(AttributeError) as caught:
        operator.attrgetter(name)(opyard)
    advice = f"; {ELSEWHERE[name]}" if ELSEWHERE[name] else ""
    assert str(caught.value) == f"module {module!r} has no attribute {last!r}{advice}"


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("weights", "; 'weight' may be meant"),
        ("parameter", "; 'parameters' may be meant"),
        ("q", ""),
    ],
)
def test_an_attribute_that_a_module_of_a_network_has_not_names_the_near_one(name, meant):
    with pytest.raises(AttributeError) as caught:
        getattr(opyard.nn.Linear(2, 2), name)
    assert str(caught.value) == f"'Linear' object has no attribute {name!r}{meant}"


STUBS = {
    "--import numpyy": "No module named 'numpyy'; 'numpy' may be meant",
    "atenn": "no operator of the namespace atenn is defined; 'aten' may be meant; load the library "
    "or import the module that defines them",
}


@pytest.mark.parametrize("line", STUBS)
def test_stubs_of_what_is_not_there_name_the_near_one(line):
    code, said = command("opyard", "stubs", *line.split())
    assert code == 2
    assert said.splitlines()[-1] == f"python -m opyard stubs: error: {STUBS[line]}"


def test_the_near_name_of_several_begins_alike():
    for wrong, meant in {"ad": "add", "min_": "min", "sumn": "sum"}.items():
        with pytest.raises(AttributeError, match=f"; '{meant}' may be meant$"):
            getattr(ops.aten, wrong)


OPTIONS = {
    "opyard --cmakdir": "--cmakdir; '--cmakedir' may be meant",
    "opyard run model.pt2 --plgin lib.so": "--plgin lib.so; '--plugin' may be meant",
    "opyard run --inpt x.npy": "--inpt; '--input' may be meant",
    "opyard stubs --modles aten": "--modles; '--modules' may be meant",
    "opyard.profiler --outpt f x.py": "--outpt; '--output' may be meant",
    "opyard --nothing-like-it": "--nothing-like-it",
}


@pytest.mark.parametrize("line", OPTIONS)
def test_an_option_that_is_not_there_names_the_near_one(line):
    code, said = command(*line.split())
    assert code == 2
    assert said.splitlines()[-1].endswith(f"error: unrecognized arguments: {OPTIONS[line]}")


def test_gradient_modes_say_what_they_take():
    with pytest.raises(TypeError, match=r"no_grad takes a function that it decorates.*is 2$"):
        opyard.no_grad(len, 2)
    with pytest.raises(TypeError, match=r"enable_grad takes a function.*'mode'$"):
        opyard.enable_grad(mode=True)


def library_of(ns, kind="FRAGMENT", key=""):
    return Library(ns, kind, key)


REFUSED = [
    (
        lambda: library_of("mistaken1").define("other::f(Tensor x) -> Tensor"),
        RuntimeError,
        'define("other::f"): Explicitly provided namespace (other) in operator name does not match '
        'namespace of enclosing Library("mistaken1", "FRAGMENT"); write "f", or use '
        'Library("other", "FRAGMENT")',
    ),
    (
        lambda: library_of("mistaken1", "IMPL").impl("other::f", print, "CPU"),
        RuntimeError,
        'impl("other::f"): Explicitly provided namespace (other) in operator name does not match '
        'namespace of enclosing Library("mistaken1", "IMPL"); write "f", or use '
        'Library("other", "IMPL")',
    ),
    (
        lambda: library_of("mistaken1").impl_c("other::f", "libm.so.6", "cos"),
        RuntimeError,
        'impl_c("other::f"): Explicitly provided namespace (other) in operator name does not match '
        'namespace of enclosing Library("mistaken1", "FRAGMENT"); write "f", or use '
        'Library("other", "FRAGMENT")',
    ),
    (
        lambda: library_of("mistaken1", "IMPL", "CPU").impl("f", print, "CUDA"),
        RuntimeError,
        'impl("f"): Explicitly provided dispatch key (CUDA) is inconsistent with the dispatch key '
        'of the enclosing Library("mistaken1", "IMPL", "CPU"); leave the key out here, or there',
    ),
    (
        lambda: library_of("_", "IMPL").impl("f", print, "CPU"),
        RuntimeError,
        'impl("f"): the namespace _ stands for all operators and can only hold fallbacks; for '
        'kernels of one operator use a library of its namespace, such as Library("aten", "IMPL")',
    ),
    (
        lambda: library_of("_", "DEF"),
        RuntimeError,
        'Library("_", "DEF"): the namespace _ stands for all operators and can only hold '
        'fallbacks; use Library("_", "IMPL", key) for those',
    ),
    (
        lambda: library_of("mistaken1", "DEF", "CPU"),
        RuntimeError,
        'Library("mistaken1", "DEF"): a library that defines operators takes no dispatch key, but '
        'got CPU; use Library("mistaken1", "IMPL", "CPU") for kernels of one key',
    ),
    (
        lambda: library_of("_", "IMPL").fallback(print),
        RuntimeError,
        'a fallback is for one key: use Library("_", "IMPL", key).fallback(fn), or give the key to '
        "fallback(fn, key)",
    ),
    (
        lambda: library_of("mistaken1").define("f() -> ()", "PURE"),
        RuntimeError,
        "Invalid alias_analysis type PURE; accepted are FROM_SCHEMA, which is meant without one, "
        "and CONSERVATIVE",
    ),
    (
        lambda: library_of("mistaken1").define("f() -> ()", "CONSERVATVE"),
        RuntimeError,
        "Invalid alias_analysis type CONSERVATVE; 'CONSERVATIVE' may be meant; accepted are "
        "FROM_SCHEMA, which is meant without one, and CONSERVATIVE",
    ),
    (
        lambda: library_of("mistaken1").derivative("f", {"x": lambda grad: grad}),
        TypeError,
        'derivative("f"): the formula of \'x\' must be a text, such as "grad * 2", not an object '
        "of function; functions in Python are for opyard.library.register_autograd()",
    ),
    (
        lambda: library_of("mistaken1").derivative("f", "grad"),
        TypeError,
        'derivative("f") takes a dict with a formula for each argument, such as {"x": "grad * 2"}, '
        "not 'grad'",
    ),
    (
        lambda: dispatch.set_dispatch_log("no"),
        TypeError,
        "set_dispatch_log() takes True or False, not 'no'",
    ),
    (
        lambda: opyard.set_num_threads("a"),
        TypeError,
        "set_num_threads() takes a number of threads, from 1 to 1024, not 'a'",
    ),
    (
        lambda: profiler.profile(record_shape=True),
        TypeError,
        "profile() has no argument 'record_shape'; 'record_shapes' may be meant. Its arguments "
        "are: activities, schedule, on_trace_ready, with_stack, with_modules, c_calls, "
        "caller_lines, lines, include, exclude, max_depth, min_duration, operators, "
        "record_shapes, profile_memory",
    ),
    (
        lambda: profiler.schedule(wait=1, warmup=1, actives=1),
        TypeError,
        "schedule() has no argument 'actives'; 'active' may be meant. Its arguments are: wait, "
        "warmup, active, repeat, skip_first, skip_first_wait",
    ),
    (
        lambda: profiler.flight_recorder(second=1),
        TypeError,
        "flight_recorder() has no argument 'second'; 'seconds' may be meant. Its arguments are: "
        "seconds, bytes, path, signals, c_calls, include, exclude, operators, profile_memory",
    ),
    (
        lambda: profiler.observe(on_entry=print),
        TypeError,
        "observe() has no argument 'on_entry'; 'on_enter' may be meant. Its arguments are: "
        "on_enter, on_exit, inputs, outputs, probability",
    ),
    (
        lambda: profiled().key_averages().table(sort="count"),
        TypeError,
        "Averages.table() has no argument 'sort'; 'sort_by' may be meant. Its arguments are: "
        "sort_by, row_limit, max_src_column_width, max_name_column_width, header, "
        "top_level_events_only, fold, torch_names",
    ),
    (
        lambda: profiled().export("t.json", formats="chrome"),
        TypeError,
        "Results.export() has no argument 'formats'; 'format' may be meant. Its arguments are: "
        "path, format",
    ),
]


def profiled():
    with profiler.profile() as prof:
        sum([1, 2])
    return prof


@pytest.mark.parametrize(("line", "kind", "message"), REFUSED)
def test_a_refusal_is_in_the_words_of_python(line, kind, message):
    with pytest.raises(kind) as caught:
        line()
    assert str(caught.value) == message


def alone(how=""):
    return (
        f"Library(kind=IMPL, ns=mistaken2, dispatch_key=) ends{how}, and no call could reach its "
        "kernels of mistaken2::never at CPU: no such operator is defined. Is a define() missing, "
        "or the library that has it?"
    )


DERIVATIVES = [
    ("mistaken2", "never", "mistaken2::never: no such operator is defined"),
    ("aten", "rellu", "aten::rellu: no such operator is defined; 'aten::relu' may be meant"),
]


@pytest.mark.parametrize(("namespace", "name", "said"), DERIVATIVES)
def test_a_derivative_without_an_operator_is_warned_of(namespace, name, said):
    with pytest.warns(UserWarning) as caught, Library(namespace, "FRAGMENT") as library:
        library.derivative(name, {"x": "grad"})
    assert [str(each.message) for each in caught] == [
        f"Library(kind=FRAGMENT, ns={namespace}, dispatch_key=) ends, and no call could reach its "
        f"derivative of {said}. Is a define() missing, or the library that has it?"
    ]
    with warnings.catch_warnings(), Library("mistaken3", "FRAGMENT") as library:
        warnings.simplefilter("error")
        library.derivative("f", {"x": "grad"})
        library.define("f(Tensor x) -> Tensor")  # after it, which is as good


def made_alone():
    library = Library("mistaken2", "IMPL")
    library.impl("never", lambda x: x, "CPU")
    return library


@pytest.mark.parametrize("end", [Library.close, Library._destroy])
def test_kernels_without_an_operator_are_warned_of_when_their_library_is_closed(end):
    library = made_alone()
    with pytest.warns(UserWarning) as caught:
        end(library)
        end(library)
    assert [(str(one.message), one.filename) for one in caught] == [(alone(), __file__)]


def test_kernels_without_an_operator_are_warned_of_when_their_library_is_dropped():
    with pytest.warns(UserWarning) as caught:
        made_alone()
        gc.collect()
    assert [str(one.message) for one in caught] == [alone(", since no one has it any more")]
    assert not dispatch.has_kernel("mistaken2::never")


def test_a_definition_that_came_later_leaves_nothing_to_warn_of():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        library = made_alone()
        with Library("mistaken2", "FRAGMENT") as definition:
            definition.define("never(Tensor x) -> Tensor")
            assert ops.mistaken2.never(x) is x
        library.close()
        with pytest.raises(ZeroDivisionError), made_alone():
            raise ZeroDivisionError


def test_the_end_of_a_program_warns_of_no_kernels(run_program):
    """The definition may be in a package that this program had no use for."""
    done = run_program(
        """
        from opyard.library import Library
        library = Library("mistaken3", "IMPL")
        library.impl("never", lambda x: x, "CPU")
        """
    )
    assert (done.returncode, done.stderr) == (0, "")


def command(*arguments, cwd=None):
    done = subprocess.run(
        [sys.executable, "-m", *arguments], capture_output=True, text=True, check=False, cwd=cwd
    )
    return done.returncode, done.stderr


def test_a_command_that_is_not_there_names_the_near_one():
    code, said = command("opyard", "stub")
    assert code == 2
    assert said.splitlines()[-1] == (
        "python -m opyard: error: there is no command 'stub'; 'stubs' may be meant; the commands "
        "are operators, stubs and run, and all else is an option"
    )


def test_a_module_that_is_not_there_is_not_profiled():
    for name, near in [("jsonn", "json"), ("json.tol", "tool")]:
        code, said = command("opyard.profiler", "-m", name)
        assert code == 1
        assert said.splitlines()[-1].endswith(f"; {near!r} may be meant")
        assert "Self time" not in said
    code, said = command("opyard.profiler", "-m", "no_such_module_at_all")
    assert said == f"{sys.executable}: No module named no_such_module_at_all\n"


def test_a_pattern_for_nothing_is_said(tmp_path):
    (tmp_path / "slow.py").write_text("def work():\n    sum(range(9))\nwork()\n")
    for option, pattern, fits in [
        ("--include", "slow.py", True),
        ("--include", "slow", True),
        ("--include", "*/sl?w.py", True),
        ("--include", str(tmp_path), True),
        ("--include", "fast.py", False),
        ("--include", "sloww", False),
        ("--exclude", "slow.py", True),
        ("--exclude", "fast", False),
        ("--exclude", "builtins", True),
    ]:
        code, said = command("opyard.profiler", option, pattern, "slow.py", cwd=tmp_path)
        told = f"opyard.profiler: {option} {pattern} fits no module and no file of the program; it "
        assert code == 0 and (told in said) != fits, said
        if option == "--include":
            assert ("slow.py(1): work" in said) == fits, said


def test_profiles_of_two_formats_are_not_compared(tmp_path):
    for name in ("a.json", "b.collapsed", "c.pstats"):
        profiled().export(tmp_path / name)
    code, said = command("opyard.profiler", "diff", "a.json", "b.collapsed", cwd=tmp_path)
    assert (code, said) == (
        1,
        "python -m opyard.profiler diff: a.json is in Chrome's format and b.collapsed collapsed "
        "stacks, and these name functions differently: compare two of one format\n",
    )
    code, said = command("opyard.profiler", "diff", "a.json", "c.pstats", cwd=tmp_path)
    assert code == 1 and "python -m opyard.profiler -o FILE.json or FILE.html writes" in said


KEYWORDS = {
    "custom_op(mutates_arg=)": lambda: opyard.library.custom_op("m::f", mutates_arg=()),
    "library.define(tag=)": lambda: opyard.library.define("m::f", "(Tensor x) -> Tensor", tag=()),
    "register_fake(fnc=)": lambda: opyard.library.register_fake("m::f", fnc=len),
    "opcheck(test_util=)": lambda: opyard.library.opcheck("aten::relu", (x,), test_util=()),
    "infer_schema(mutate_args=)": lambda: opyard.library.infer_schema(len, mutate_args=()),
    "jit.trace(example=)": lambda: opyard.jit.trace(len, example=(x,)),
    "jit.load(pth=)": lambda: opyard.jit.load(pth="x"),
    "autograd.backward(retain_grph=)": lambda: opyard.autograd.backward(x, retain_grph=True),
    "autograd.grad(create_grph=)": lambda: opyard.autograd.grad(x, x, create_grph=True),
    "autograd.gradcheck(epsilon=)": lambda: opyard.autograd.gradcheck(len, (x,), epss=1),
}


@pytest.mark.parametrize("name", KEYWORDS)
def test_functions_refuse_unknown_keywords_with_the_near_one_and_all(name):
    with pytest.raises(TypeError, match=r"has no argument '\w+'.*Its arguments are: ") as caught:
        KEYWORDS[name]()
    assert "may be meant" in str(caught.value) or "example" in name, str(caught.value)
