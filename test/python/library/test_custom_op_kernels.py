"""Protects the schema of custom_op(), its kernels by device type, and those that are switched off.

Suspect opyard/_library/custom_op.py, custom_schema.py, then opyard/_library/override.py.
"""

import gc
import threading

import pytest
from custom_ops import twice, values
from raised import message_of

import opyard
from opyard import Tensor, ops
from opyard.dispatch import dump, has_kernel

aten = ops.aten
CUDA = opyard.device("cuda")


# F13 --------------------------------------------------------------------------------------


def test_F13_the_schema_agrees_with_mutates_args(make, ns, x):
    def f(x: Tensor, y: Tensor) -> None:
        x += y

    written = "(Tensor(a!) x, Tensor y) -> ()"
    made = make(f, mutates_args=["x"], schema=written)
    made(x, x)
    assert values(x) == [2.0, 4.0, 6.0]
    make(f, mutates_args="unknown", schema=written)
    text = message_of(ValueError, make, f, mutates_args=[], schema=written)
    assert text == (
        f"custom_op: of {ns}::f, mutates_args says that it writes to nothing, and the schema "
        f"{written} that it writes to 'x'; make the two agree, with a '!' for each that is written "
        "to"
    )
    text = message_of(ValueError, make, f, mutates_args=["y", "x"], schema=written)
    assert "writes to 'x', 'y', and" in text
    assert message_of(ValueError, make, f, mutates_args="x", schema=written) == (
        f'custom_op: mutates_args of {ns}::f is "x"; accepted are "unknown" and names in a list'
    )
    assert message_of(ValueError, make, f, mutates_args=["x"], schema="f" + written) == (
        f"custom_op(schema=...): the schema of {ns}::f begins with its arguments, as in '(Tensor x)"
        " -> Tensor', since the name is given besides; got 'f(Tensor(a!) x, Tensor y) -> ()'"
    )
    assert make(f, mutates_args=["y", "x"]).op.declaration == (
        f"{ns}::f(Tensor(a0!) x, Tensor(a1!) y) -> ()"
    )
    assert make(f, "g", mutates_args="unknown").op.declaration == (
        f"{ns}::g(Tensor(a0!) x, Tensor(a1!) y) -> ()"
    )


def test_F13_tensors_by_position_only_or_by_name_only(make, ns):
    def by_position(x: Tensor, /) -> Tensor:
        return x

    def by_name(x: Tensor, *, y: "list[Tensor] | None" = None) -> Tensor:
        return x

    text = message_of(ValueError, make, by_position)
    assert "parameter 'x' takes its argument by position only" in text
    assert message_of(NotImplementedError, make, by_name) == (
        f"custom_op: {ns}::by_name takes the tensor 'y' by keyword only, and a backward gives its "
        "gradients by position. Take it by position; only what results are written to may be "
        "keyword-only, with Tag.out"
    )


# F14, F15, F16 ----------------------------------------------------------------------------


def test_F14_without_tensors_the_device_chooses(make, ns):
    def full(n: int, device: "opyard.device | None" = None) -> Tensor:
        return opyard.tensor([0.0])

    f = make(full, device_types="cpu")
    f.register_kernel("cuda", lambda n, device=None: opyard.tensor([1.0]))
    assert values(f(1)) == values(f(1, "cpu")) == values(f(1, device="cpu")) == [0.0]
    assert values(f(1, "cuda:1")) == values(f(1, device=opyard.device("cuda"))) == [1.0]
    assert message_of(RuntimeError, f, 1, "xla") == (
        f"{ns}::full has no kernel for the device type 'xla', only for cpu, cuda; add one with "
        "register_kernel()"
    )
    f.register_kernel(None, lambda n, device=None: opyard.tensor([2.0]))
    assert values(f(1, "xla")) == [2.0]
    f.register_fake(lambda n, device=None: aten.empty([n], device="meta"))
    assert f(7, "meta").shape == (7,)


def test_F14_a_device_by_keyword_only_with_a_default(make):
    @make(device_types=["cpu"])
    def f(*, device: opyard.device = CUDA) -> Tensor:
        return opyard.tensor([0.0])

    f.register_kernel("cuda", lambda **given: opyard.tensor([1.0]))
    assert values(f()) == [1.0]
    assert values(f(device="cpu")) == [0.0]


def test_F14_without_a_device_argument(make, ns):
    def f(n: int) -> Tensor:
        return opyard.tensor([n])

    text = (
        f"{ns}::f takes no tensors, so only an argument `device: opyard.device` could tell which "
        "kernel of several device types is meant, and it has none. Add one, or register for all "
        f"device types, with None. Got {ns}::f(SymInt n) -> Tensor"
    )
    assert message_of(ValueError, make, f, device_types="cpu") == text
    assert not has_kernel(f"{ns}::f")
    made = make(f)
    before = dump(made.op)
    assert message_of(ValueError, made.register_kernel, "cpu", f) == text
    assert dump(made.op) == before
    assert values(made(3)) == [3]


def test_F15_kernels_by_device_type(make, ns, x):
    f = make(twice)

    @f.register_kernel("cpu")
    def on_cpu(x):
        return x * 10

    assert on_cpu(x).tolist() == values(f(x)) == [10.0, 20.0, 30.0]
    assert f.register_kernel(["cpu", "cuda"], lambda x: x * 20) is not None
    assert has_kernel(f.op, "CUDA")
    assert values(f(x)) == [20.0, 40.0, 60.0]  # which replaced the first
    assert dump(f.op).count("\nCPU: ") == 1 and "inactive" not in dump(f.op)
    f.register_kernel(None, lambda x: x * 30)
    assert values(f(x)) == [20.0, 40.0, 60.0]  # the default is not asked
    g = make(twice, "g", device_types="cuda")
    assert "no kernel" in message_of(NotImplementedError, g, x)
    g.register_kernel("cpu", twice)
    assert values(g(x)) == [2.0, 4.0, 6.0]


def test_F15_what_is_no_device_type(make, ns):
    f = make(twice)
    before = dump(f.op)
    message_of(ValueError, f.register_kernel, "nowhere", twice)
    assert message_of(ValueError, f.register_kernel, ["cpu", "cuda:1"], twice) == (
        "'cuda:1' is one device; a kernel is for all devices of a type"
    )
    assert message_of(TypeError, f.register_kernel, [3], twice) == (
        "a device type must be a str, such as 'cpu', not int"
    )
    assert message_of(ValueError, f.register_kernel, [], twice) == (
        f"{ns}::twice: device_types is empty; None stands for all of them"
    )
    assert message_of(ValueError, f.register_kernel, "meta", twice) == (
        f"{ns}::twice: a kernel for 'meta' tensors, which have no elements, is a fake kernel; "
        "register it with register_fake()"
    )
    assert message_of(TypeError, f.register_kernel, "cpu", 3) == (
        f"register_kernel: what is registered for {ns}::twice must be callable, not int"
    )
    assert dump(f.op) == before


def test_F16_a_kernel_switched_off(make, x):
    f = make(twice)
    f.register_kernel("cpu", lambda x: x * 10)
    handle = f.op
    with f.set_kernel_enabled("cpu", False):
        assert values(f(x)) == values(handle(x)) == [2.0, 4.0, 6.0]
        with f.set_kernel_enabled("cpu"):
            assert values(f(x)) == [10.0, 20.0, 30.0]
        assert values(f(x)) == [2.0, 4.0, 6.0]
        f.register_kernel("cpu", lambda x: x * 20)  # for later
        assert values(f(x)) == [2.0, 4.0, 6.0]
    assert values(f(x)) == [20.0, 40.0, 60.0]
    with pytest.raises(KeyError), f.set_kernel_enabled("cpu", False):
        raise KeyError
    assert values(f(x)) == [20.0, 40.0, 60.0]


@pytest.mark.filterwarnings("ignore:the kernel of")
def test_F16_switched_off_by_several_at_once(make, x):
    f = make(twice)
    f.register_kernel("cpu", lambda x: x * 10)
    off, on = [2.0, 4.0, 6.0], [10.0, 20.0, 30.0]
    first, second = f.set_kernel_enabled("cpu", False), f.set_kernel_enabled("cpu", False)
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)
    assert values(f(x)) == off  # for the second
    second.__exit__(None, None, None)
    assert values(f(x)) == on

    first, second = f.set_kernel_enabled("cpu", False), f.set_kernel_enabled("cpu", True)
    first.__enter__()
    second.__enter__()
    assert values(f(x)) == on
    first.__exit__(None, None, None)
    assert values(f(x)) == on
    with first:
        assert values(f(x)) == off
    second.__exit__(None, None, None)
    assert values(f(x)) == on

    region, entered = f.set_kernel_enabled("cpu", False), threading.Barrier(3)
    wrong = []

    def stay(rounds):
        entered.wait()
        for _ in range(rounds):
            with region:
                if values(f(x)) != off:
                    wrong.append(values(f(x)))

    threads = [threading.Thread(target=stay, args=(rounds,)) for rounds in (200, 200, 200)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert not wrong
    assert values(f(x)) == on


def test_F16_no_lock_is_held_while_a_replaced_kernel_ends(make, x):
    f = make(twice)
    free = []

    class Kernel:
        def __call__(self, x):
            return x

        def __del__(self):
            def switch():
                with f.set_kernel_enabled("cpu", False):
                    free.append(True)

            thread = threading.Thread(target=switch, daemon=True)
            thread.start()
            thread.join(2)
            free.append(not thread.is_alive())

    f.register_kernel("cpu", Kernel())
    f.register_kernel("cpu", lambda x: x)
    gc.collect()
    assert free == [True, True]


def test_F16_a_with_block_that_outlives_its_operator(make, x):
    f = make(twice)
    f.register_kernel("cpu", lambda x: x * 10)
    with f.set_kernel_enabled("cpu", False):
        f._destroy()
    message_of(RuntimeError, f.set_kernel_enabled("cpu", False).__enter__)


def test_F16_what_changes_nothing_is_warned_of(make, ns, x):
    f = make(twice)
    f.register_kernel("cpu", lambda x: x * 10)
    with pytest.warns(UserWarning) as warned:
        with f.set_kernel_enabled("cuda", False):
            pass
        with f.set_kernel_enabled("cpu", True):
            pass
        with f.set_kernel_enabled("cpu", False), f.set_kernel_enabled("cpu", False):
            assert values(f(x)) == [2.0, 4.0, 6.0]
    assert [str(each.message) for each in warned] == [
        f"{ns}::twice has no kernel for 'cuda' that could be disabled",
        f"the kernel of {ns}::twice for 'cpu' is enabled already",
        f"the kernel of {ns}::twice for 'cpu' is disabled already",
    ]
    assert {each.filename for each in warned} == {__file__}
    assert values(f(x)) == [10.0, 20.0, 30.0]
    message_of(ValueError, f.set_kernel_enabled, "nowhere")
