"""test/bench/rows.py: the rows of the table, in its order, with their budgets.

A row compares ours with its floor, the cheapest program that does the job at all, measured in the
same process. How they are compared is the row's `kind`:

    RATIO       ours / floor, at most the budget
    DIFFERENCE  ours - floor in nanoseconds, at most the budget: for rows below 3 ns, where a ratio
                flips from code placement alone, and for serialised ones
    ABSOLUTE    ours, at most the budget, in the row's unit
    INFORMATION no budget

`peers` of a Measured is for what a user would pick instead; a column of the table for each name.
"""

from dataclasses import dataclass, field
from pathlib import Path

RATIO = "ratio"
DIFFERENCE = "difference"
ABSOLUTE = "absolute"
INFORMATION = "information"

# A row worse than so many times its budget is a failure.
FAR_OVER = 5.0


@dataclass(frozen=True)
class Row:
    key: str  # what the programs call it
    journey: str
    path: str
    kind: str
    budget: float = 0.0
    unit: str = "ns"


@dataclass
class Measured:
    floor: float
    ours: float
    peers: dict[str, float] = field(default_factory=dict)


def has_avx512() -> bool:
    """What PyTorch's products of matrices use then, and ours."""
    cpu = Path("/proc/cpuinfo")
    return cpu.exists() and " avx512f " in cpu.read_text()


# Rows of the C++ program.
CPP = [
    Row("typed_reference", "1", "typed call, result by reference", DIFFERENCE, 0.6),
    Row("typed_two_threads", "1", "  the same on two threads at once", DIFFERENCE, 0.6),
    Row("typed_among_many", "1", "  the same among 10,000 operators", DIFFERENCE, 0.6),
    Row("typed_direct", "1", "  the same, kernel registered as a constant", DIFFERENCE, 0.6),
    Row("typed_serialised", "1", "  the same, serialised by lfence", DIFFERENCE, 5.0),
    Row("typed_random", "1", "  32 operators, 32 kernels, random order", INFORMATION),
    Row("hand_function", "1", "  dispatch by hand, table of functions", INFORMATION),
    Row("hand_function_serialised", "1", "  dispatch by hand, serialised", INFORMATION),
    Row("hand_record", "1", "  by hand, slot, record and depth", INFORMATION),
    Row("hand_record_serialised", "1", "  by hand, slot, record, depth, serialised", INFORMATION),
    Row("typed_counted", "1", "typed call, counted Tensor back", RATIO, 1.10),
    Row("redispatch", "1", "one redispatch hop", DIFFERENCE, 1.5),
    Row("redispatch_direct", "1", "  the same, kernel registered as a constant", DIFFERENCE, 1.5),
    Row("boxed", "2", "boxed call of an unboxed kernel, two tensors", RATIO, 1.4),
    Row("boxed_unchecked", "2", "  the same, arguments checked before", INFORMATION),
    Row("registers", "7", "call from registers, over its function alone, two tensors", RATIO, 1.25),
    Row("graph_operator", "7", "graph: operator instruction, over the dispatcher", RATIO, 1.25),
    Row("graph_int", "7", "  instruction on ints", RATIO, 1.5),
    Row("graph_enter", "7", "  entering and leaving, one instruction", RATIO, 2.0),
    Row("graph_lstm", "7", "  staged LSTM cell, over its kernels", RATIO, 1.1),
    Row("graph_two_threads", "7", "  two states on two threads", RATIO, 2 / 1.9),
    Row("graph_compile", "7", "  10,000 nodes from text to code", ABSOLUTE, 500.0, "ms"),
    Row("graph_million", "7", "  a million nodes, over 100 graphs of 10,000", RATIO, 1.3, "ms"),
    Row("fusion_1k", "7", "nine operations fused, 1,024 floats, over a loop by hand", RATIO, 2.3),
    Row("fusion_64k", "7", "  65,536 floats", RATIO, 2.3),
    Row("fusion_1m", "7", "  1,048,576 floats", RATIO, 1.5),
    Row("fusion_4m", "7", "  4,194,304 floats", RATIO, 1.5),
    Row("unfused_1k", "7", "  not fused, 1,024 floats", INFORMATION),
    Row("unfused_64k", "7", "  not fused, 65,536 floats", INFORMATION),
    Row("unfused_1m", "7", "  not fused, 1,048,576 floats", INFORMATION),
    Row("unfused_4m", "7", "  not fused, 4,194,304 floats", INFORMATION),
    Row("c_function", "-", "C function as a kernel, one number", RATIO, 1.15),
    Row("c_function_two", "-", "  two numbers", RATIO, 1.15),
    Row("c_function_ten", "-", "  ten numbers, not all in registers", RATIO, 1.15),
    Row("c_function_libffi", "-", "  24 numbers, through libffi", INFORMATION),
    Row("c_function_tensors", "-", "  two tensors", INFORMATION),
    Row("closure", "-", "operator as a C function, one number", RATIO, 1.15),
    Row("closure_libffi", "-", "  ten numbers, through a closure of libffi", INFORMATION),
]

# Rows of Python.
PYTHON = [
    Row("call", "3", "op(x), C++ kernel, result wrapped", RATIO, 1.5),
    Row("path", "3", "ops.ns.name.default(x), whole path", RATIO, 1.5),
    Row("fresh", "3", "fresh C++ tensor and wrapper (alias)", RATIO, 1.5),
    Row("foreign", "3", "four NumPy arrays as arguments, by __dlpack__", RATIO, 1.3),
    Row("foreign_table", "3", "  four arrays by an exchange table", RATIO, 1.3),
    Row("foreign_torch", "3", "  four tensors of PyTorch, by its table", RATIO, 2.5),
    Row("foreign_buffer", "3", "  four arrays by the buffer protocol", INFORMATION),
    Row("foreign_result", "3", "  one NumPy array, and the result as one", INFORMATION),
    Row("from_dlpack", "3", "  from_dlpack(array)", INFORMATION),
    Row("python_kernel", "4", "Python kernel called from Python", RATIO, 1.4),
    Row("python_two", "4", "  with two tensors", RATIO, 1.4),
    Row("python_many", "4", "  with fourteen tensors", RATIO, 1.4),
    Row("python_names", "4", "  with a keyword argument", RATIO, 1.4),
    Row("custom_one", "4", "custom_op() with one tensor, its result looked at", RATIO, 1.4),
    Row("custom_many", "4", "  with fourteen tensors", RATIO, 1.4),
    Row("python_from_cpp", "5", "Python kernel called from C++, GIL held", RATIO, 1.4),
    Row("subclass", "6", "handler of a subclass", RATIO, 1.5),
    Row("mode", "6", "handler of a mode", RATIO, 2.0),
    Row("detach", "6", "detach of a subclass, by its handler", INFORMATION),
    Row("small_add", "10", "x + y on one element, from Python", ABSOLUTE, 120.0),
    Row("small_number", "10", "  x + 1, over the operator alone", INFORMATION),
    Row("small_method", "10", "  x.relu(), over the operator alone", DIFFERENCE, 15.0),
    Row("small_alias", "10", "  x.alias(), over the operator alone", DIFFERENCE, 15.0),
    Row("small_select", "10", "  m[0, 1]", ABSOLUTE, 300.0),
    Row("small_column", "10", "  m[:, 1]", ABSOLUTE, 400.0),
    Row("small_slice", "10", "  m[1:]", INFORMATION),
]

# Of two interpreters on two cores: twice the calls in so many times the time of one interpreter is
# a throughput of 1.85 times.
INTERPRETERS = [
    Row("interpreters", "4", "  in two isolated interpreters at once", RATIO, 2 / 1.85),
]

# What importing costs. The floor is importing the extension module of the floors.
FOOTPRINT = [
    Row("import_time", "-", "import opyard: time", ABSOLUTE, 5.0, "ms"),
    Row("import_memory", "-", "import opyard: resident memory", ABSOLUTE, 3.0, "MiB"),
    Row("import_sources", "-", "  time, no bytecode there", INFORMATION, unit="ms"),
    Row("profiler_time", "-", "import opyard.profiler, after opyard: time", ABSOLUTE, 10.0, "ms"),
    Row("profiler_memory", "-", "  resident memory", ABSOLUTE, 1.5, "MiB"),
    Row("disk", "-", "import opyard: size on disk, no kernels", ABSOLUTE, 3.0, "MB"),
]

# What registering costs.
REGISTRATION = [
    Row("register_5000", "-", "register 5,000 operators with 3 kernels", ABSOLUTE, 150.0, "ms"),
    Row("operator_memory", "-", "  memory of each", ABSOLUTE, 3072.0, "bytes"),
    Row("define", "-", "define an operator, unregister it", INFORMATION),
    Row("override", "-", "override a kernel, remove the override", INFORMATION),
]

# What a call takes longer while a profile captures it, over the cheapest code that captures at all.
# The CPython of all other rows, and then the others.
PROFILE = [
    Row("profile_python", "8", "Python call, captured", RATIO, 1.15),
    Row("profile_python_cprofile", "8", "  the same by cProfile", INFORMATION),
    Row("profile_python_viztracer", "8", "  the same by viztracer", INFORMATION),
    Row("profile_python_pyinstrument", "8", "  the same by pyinstrument", INFORMATION),
    Row("profile_python_torch", "8", "  the same by torch.profiler, with_stack", INFORMATION),
    Row("profile_c", "8", "call of a function in C, captured", RATIO, 1.15),
    Row("profile_c_cprofile", "8", "  the same by cProfile", INFORMATION),
    Row("profile_c_viztracer", "8", "  the same by viztracer", INFORMATION),
    Row("profile_c_pyinstrument", "8", "  the same by pyinstrument", INFORMATION),
    Row("profile_c_torch", "8", "  the same by torch.profiler, with_stack", INFORMATION),
    Row("profile_operator", "8", "operator with one kernel, from Python, captured", ABSOLUTE, 60.0),
]
PROFILE_PYTHONS = ("3.10", "3.11", "3.12", "3.13")
for _version in PROFILE_PYTHONS:
    PROFILE += [
        Row(f"profile_python_{_version}", "8", f"  Python call, on {_version}", RATIO, 1.15),
        Row(f"profile_c_{_version}", "8", f"  function in C, on {_version}", RATIO, 1.15),
    ]

# What gradients cost where none is needed, over a table without a tape; taping a call of which both
# arguments are saved; a function of a run backwards, over what it calls.
GRADIENTS = [
    Row("armed", "9", "gradients armed, none needed: typed call", DIFFERENCE, 4.0),
    Row("armed_counted", "9", "  typed call, counted Tensor back", DIFFERENCE, 4.0),
    Row("armed_boxed", "9", "  boxed call", DIFFERENCE, 4.0),
    Row("armed_call", "9", "  C++ kernel called from Python", DIFFERENCE, 6.0),
    Row("armed_python", "9", "  Python kernel called from Python", DIFFERENCE, 6.0),
    Row("taped", "9", "a taped call, two tensors saved", DIFFERENCE, 90.0),
    Row("backward", "9", "a function of a run backwards", DIFFERENCE, 150.0),
    Row("training_step", "9", "training step, two layers, batch 1", INFORMATION),
]

# Over PyTorch's eager mode, on one thread. The step is one of training the digits network; it is
# also compared with ours that is not compiled.
MODELS = [
    Row("compiled_step_torch", "9", "compiled step, batch 64, over PyTorch's", RATIO, 1 / 2),
    Row("compiled_step", "9", "  over ours that is not compiled", RATIO, 1 / 1.2),
    Row("model_small", "7", "exported network of three layers, over PyTorch's", RATIO, 1 / 3),
    Row("model_load", "7", "  load it from its file, and run it once", ABSOLUTE, 10.0, "ms"),
    Row("model_resnet", "7", "  ResNet-18", RATIO, 2.0),
    Row("model_block", "7", "  transformer block", RATIO, 1.4 if has_avx512() else 1.9),
]

# Operators on many elements, on one thread: a million floats, matrices of 512 x 512, images of 56 x
# 56. The floor is the better of PyTorch and NumPy; of a chain, the same with results that are there
# already; of two threads, what one takes.
OPERATORS = [
    Row("op_tanh", "10", "tanh of a million floats, over PyTorch and NumPy", RATIO, 1.2),
    Row("op_exp", "10", "  exp", RATIO, 1.2),
    Row("op_sin", "10", "  sin", RATIO, 1.2),
    Row("op_erf", "10", "  erf, over PyTorch", RATIO, 1.2),
    Row("op_sigmoid", "10", "  sigmoid", RATIO, 1.2),
    Row("op_sqrt", "10", "  sqrt", RATIO, 1.2),
    Row("op_add", "10", "  add", RATIO, 1.2),
    Row("op_softmax", "10", "  softmax of the rows of a matrix", RATIO, 1.2),
    Row("op_sum", "10", "  sums of the rows of a matrix", RATIO, 1.2),
    Row("op_mm", "10", "  product of matrices", RATIO, 1.3 if has_avx512() else 1.8),
    Row("op_conv2d", "10", "  conv2d, 3 x 3, 64 to 64 channels", RATIO, 1.2),
    Row("op_conv2d_strided", "10", "  conv2d, 3 x 3, stride 2, 32 to 64 channels", RATIO, 1.2),
    Row("op_depthwise", "10", "  conv2d, 3 x 3, each of 128 channels by itself", RATIO, 1.0),
    Row("op_batch_norm", "10", "  batch_norm by running moments", RATIO, 1.0),
    Row("op_layer_norm", "10", "  layer_norm of 512 rows of 256", RATIO, 1.0),
    Row("op_max_pool", "10", "  max_pool2d, 3 x 3, stride 2", RATIO, 1.0),
    Row("op_sort", "10", "  sort of a million floats", RATIO, 1.0),
    Row("chain_64k", "10", "nine operators, 65,536 floats, over kept buffers", RATIO, 1.15),
    Row("chain_1m", "10", "  1,048,576 floats", RATIO, 1.15),
    Row("two_tanh", "10", "tanh on two threads, over one", RATIO, 1 / 1.8),
    Row("two_mm", "10", "  product of matrices", RATIO, 1 / 1.8),
    Row("two_add", "10", "  add, over two plain loops", RATIO, 1 / 0.9),
]

# Operators of Opyard that are published into PyTorch, over the same ones written by hand in Python:
# 8 floats. The first row of each group is the median of the others.
_PUBLISHED = (("silu", "elementwise"), ("sum", "a reduction"), ("sort", "two results"))
PUBLISH: list[Row] = []
for _row, _path, _budget in (
    ("forward", "published into PyTorch, over by hand: a call", 0.5),
    ("taped", "  a call that requires a gradient", 0.6),
    ("backward", "  the same, and its backward", 0.7),
):
    PUBLISH.append(Row(f"publish_{_row}", "12", _path, RATIO, _budget))
    PUBLISH += [
        Row(f"publish_{_row}_{_name}", "12", f"    {_what}", INFORMATION)
        for _name, _what in _PUBLISHED
    ]

# The same into JAX, jitted, over XLA's own arithmetic.
PUBLISH_JAX = [
    Row("publish_jax", "12", "published into JAX, over XLA's own x * 2: a call", RATIO, 1.2),
    Row("publish_jax_backward", "12", "  forward and backward", INFORMATION),
]

ALL = (
    CPP
    + PYTHON
    + OPERATORS
    + GRADIENTS
    + MODELS
    + PUBLISH
    + PUBLISH_JAX
    + PROFILE
    + INTERPRETERS
    + FOOTPRINT
    + REGISTRATION
)


def compared(row: Row, measured: Measured) -> float:
    """The figure that the row's budget is for; for one without a budget the difference."""
    if row.kind == RATIO:
        return measured.ours / measured.floor
    if row.kind == ABSOLUTE:
        return measured.ours
    return measured.ours - measured.floor


def is_met(row: Row, measured: Measured) -> bool:
    return compared(row, measured) <= row.budget


def is_far_over(row: Row, measured: Measured) -> bool:
    return row.kind != INFORMATION and compared(row, measured) > FAR_OVER * row.budget
