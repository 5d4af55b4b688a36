"""opyard.profiler as users see it: profiles, averages, schedules, ranges, threads, who is refused.

Suspect profiler/src/, by the table of profiler/README.md.
"""

import gc
import gzip
import json
import os
import socket
import sys
import threading
import time
import types
import warnings

import pytest
from built import plain_build
from hypothesis import given, settings
from hypothesis import strategies as st
from processes import run
from profiled_work import assert_nested, leaf, load_chrome, named, spans_of, work

import opyard.profiler
from opyard import _tracer
from opyard.profiler import profile, record_function, schedule


def test_I47_a_chrome_trace_has_each_call_with_its_place(tmp_path):
    with profile() as prof:
        work()
    prof.add_metadata("what", "a test")
    prof.add_metadata_json("numbers", "[1, 2]")
    prof.export_chrome_trace(tmp_path / "trace.json")
    document = load_chrome(tmp_path / "trace.json")
    assert_nested(document)
    calls = [e for e in document["traceEvents"] if e["ph"] == "X" and e["name"].endswith("): leaf")]
    assert len(calls) == 3
    assert calls[0]["cat"] == "python_function"
    assert calls[0]["name"] == f"profiled_work.py({leaf.__code__.co_firstlineno}): leaf"
    outer = next(e for e in document["traceEvents"] if e["name"].endswith("): work"))
    assert {call["args"]["Python parent id"] for call in calls} == {outer["args"]["Python id"]}
    assert document["what"] == "a test" and document["numbers"] == [1, 2]
    assert document["schemaVersion"] == 1
    assert document["baseTimeNanoseconds"] > 1e18
    assert any(e["ph"] == "M" and e["name"] == "thread_name" for e in document["traceEvents"])


def test_I47_events_have_the_categories_of_pytorch(tmp_path):
    x = opyard.ones(2)
    plan = schedule(wait=0, warmup=1, active=1)
    with profile(schedule=plan) as prof:
        prof.step()
        with record_function("a range"):
            x.add(x)
            leaf(1)
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = load_chrome(tmp_path / "trace.json")["traceEvents"]
    categories = {event["name"].rpartition(": ")[2]: event.get("cat") for event in events}
    assert categories["a range"] == categories["ProfilerStep#1"] == "user_annotation"
    assert categories["aten::add.Tensor"] == "cpu_op"
    assert categories["leaf"] == "python_function"


def test_X16_the_export_says_how_far_it_can_be_trusted(tmp_path):
    with profile() as prof:
        work()
    prof.export_chrome_trace(tmp_path / "trace.json")
    quality = load_chrome(tmp_path / "trace.json")["dataQuality"]
    assert quality == prof.data_quality()
    assert quality["lost"] == quality["clamped"] == quality["broken"] == 0
    assert quality["open before"] >= 1
    assert quality["events"] >= 8
    assert quality["event cost ns"] > 0
    assert quality["clock"] in ("rdtsc", "clock_gettime(CLOCK_MONOTONIC)", "cntvct_el0")


def test_I47_a_path_with_gz_is_compressed(tmp_path):
    with profile() as prof:
        work()
    prof.export_chrome_trace(tmp_path / "trace.json.gz")
    with gzip.open(tmp_path / "trace.json.gz", "rt", encoding="utf-8") as file:
        assert json.load(file)["traceEvents"]


def test_a_path_that_cannot_be_written_is_an_error(tmp_path):
    with profile() as prof:
        work()
    with pytest.raises(FileNotFoundError):
        prof.export_chrome_trace(tmp_path / "none" / "trace.json")


def test_X17_I15_names_of_code_that_is_gone_are_right(tmp_path):
    with profile() as prof:
        for n in range(200):
            space = {}
            exec(compile(f"def made_{n}(): pass\nmade_{n}()", f"place_{n}", "exec"), space)
            del space
        gc.collect()
    names = {event.name for event in prof.events()}
    for n in range(200):
        assert f"place_{n}(1): made_{n}" in names


def test_X17_I17_hostile_names_are_valid_json(tmp_path):
    hostile = ['"quoted"', "back\\slash", "new\nline", "\x00nul", "\u2028", "🎈", "</script>"]
    hostile.append("\udc80")  # half a pair, as in names of files that are not UTF-8
    with profile() as prof:
        for n, name in enumerate(hostile):
            code = leaf.__code__.replace(co_filename=name + ".py", co_firstlineno=n + 1)
            types.FunctionType(code, {})(1)
            with record_function(name):
                pass
    prof.export_chrome_trace(tmp_path / "trace.json")
    names = {event["name"] for event in load_chrome(tmp_path / "trace.json")["traceEvents"]}
    for n, name in enumerate(hostile[:-1]):
        assert f"{name}.py({n + 1}): leaf" in names
        assert name in names
    assert "\\udc80" in names


def test_I18_names_of_functions_in_c_have_no_address():
    with profile() as prof:
        [].append(1)
        list.append([], 2)
        len("x")
        dict.fromkeys("ab")
    labels = {event.name for event in prof.events() if event.kind == "C"}
    assert {"list.append", "builtins.len", "dict.fromkeys"} <= labels
    assert not any("0x" in label for label in labels)


def test_I18_functions_that_pybind11_binds_are_named_by_their_module():
    x = opyard.tensor([1.0, 2.0], requires_grad=True)
    with profile() as prof:
        (x * x).sum().backward()
    labels = {event.name for event in prof.events() if event.kind == "C"}
    assert "opyard._gradients.backward" in labels
    assert not any("pybind11" in label for label in labels)


def test_a_class_of_python_and_of_c_that_is_called_is_a_kind_of_its_own():
    class Made:
        pass

    with profile() as prof:
        Made()
        int("3")
    labels = {event.name for event in prof.events() if event.kind == "Callable"}
    if sys.version_info >= (3, 12):
        assert any(label.endswith("Made") for label in labels)
        assert "int" in labels
    else:
        assert labels == set()  # CPython's profile functions are not told of them


def test_I25_frames_that_were_open_are_in_the_trace_128_at_most():
    def down(n):
        if n:
            return down(n - 1)
        with profile() as prof:
            work()
        return prof

    prof = down(200)
    open_before = [span for span in spans_of(prof, threading.get_native_id())[0] if span[5] & 1]
    assert len(open_before) == 128  # the profile's own frames are not among them
    assert all(span[1].endswith(": down") for span in open_before[-100:])
    parents = [span[4] for span in open_before]
    assert parents == [-1, *range(len(parents) - 1)]


def test_X15_I3_I9_every_thread_is_captured():
    """Running before, blocked, started within, and raw `_thread`; each with its thread id."""
    import _thread

    ids = {}
    release, started = threading.Event(), threading.Event()
    stop = False

    def running():
        ids["running"] = threading.get_native_id()
        started.set()
        while not stop:
            leaf(1)
            time.sleep(0)

    def blocked():
        ids["blocked"] = threading.get_native_id()
        release.wait()
        leaf(2)

    def late():
        ids["late"] = threading.get_native_id()
        leaf(3)

    done = threading.Event()

    def raw():
        ids["raw"] = threading.get_native_id()
        leaf(4)
        done.set()

    threads = [threading.Thread(target=running), threading.Thread(target=blocked)]
    for thread in threads:
        thread.start()
    started.wait()
    with profile() as prof:
        release.set()
        threads[1].join()
        last = threading.Thread(target=late)
        last.start()
        last.join()
        _thread.start_new_thread(raw, ())
        done.wait()
        time.sleep(0.02)
    stop = True
    threads[0].join()
    for name, function in ids.items():
        (spans,) = spans_of(prof, function)
        assert any(span[1].endswith("): leaf") for span in spans), name
    # The one that was blocked was in its function when the profile began.
    (spans,) = spans_of(prof, ids["blocked"])
    assert any(span[1].endswith("): blocked") and span[5] & 1 for span in spans)
    # The one that was started within is there from its first frame on.
    (spans,) = spans_of(prof, ids["late"])
    assert any(span[1].endswith("): _bootstrap") for span in spans)


def test_threads_have_their_names():
    def wait():
        release.wait()

    release = threading.Event()
    thread = threading.Thread(target=wait, name="the one that waits")
    thread.start()
    with profile() as prof:
        work()
    release.set()
    thread.join()
    names = {track.native_id: track.name for track in prof.events().tracks}
    assert names[thread.native_id] == thread.name


@pytest.mark.parametrize("options", [{}, {"exclude": "threading"}])
def test_threads_that_end_within_have_their_names(options):
    def run():
        threading.current_thread().name += " at its end"

    with profile(**options) as prof:
        for n in range(3):
            thread = threading.Thread(target=run, name=f"thread {n}")
            thread.start()
            thread.join()
    named_tracks = [track.name for track in prof.events().tracks if track.name.endswith("end")]
    assert named_tracks == [f"thread {n} at its end" for n in range(3)]


def test_I42_a_second_profile_on_this_thread_is_refused():
    with profile() as prof:
        with pytest.raises(RuntimeError, match="Profiler is already enabled on this thread"):
            profile().start()
        work()
    assert named(prof, "): leaf")


def test_I2_a_second_profile_on_another_thread_is_refused():
    said = []

    def second():
        try:
            profile().start()
        except RuntimeError as error:
            said.append(str(error))

    with profile():
        thread = threading.Thread(target=second)
        thread.start()
        thread.join()
    assert said[0].startswith(
        "There is already an active Python tracer. Refusing to register profile functions."
    )


def test_I42_what_is_asked_too_early_is_refused_with_a_text():
    prof = profile()
    with pytest.raises(RuntimeError, match="call start"):
        prof.stop()
    with pytest.raises(RuntimeError, match="captured nothing yet"):
        prof.events()
    with pytest.raises(RuntimeError, match="inside a profile"):
        prof.step()


def test_a_profile_can_be_started_again_after_an_exception():
    with pytest.raises(KeyError), profile() as prof:
        work()
        raise KeyError
    assert named(prof, "): leaf")
    with profile() as prof:
        work()
    assert len(named(prof, "): leaf")) == 3


def test_torch_parameters_without_meaning_are_named_in_one_warning():
    with pytest.warns(UserWarning, match="acc_events, with_flops"):
        profile(with_flops=True, acc_events=True, experimental_config=None)
    with pytest.raises(TypeError, match="colour"):
        profile(colour=True)


def test_I37_a_range_that_is_not_closed_ends_with_the_profile():
    open_range = record_function("never closed")
    with profile() as prof:
        open_range.__enter__()
        with record_function("closed"):
            work()
    (event,) = named(prof, "never closed")
    assert event.cuts == ["was open at its end"]
    assert [child.name for child in event.children if child.kind == "Annotation"] == ["closed"]
    open_range.__exit__(None, None, None)


def test_record_function_is_a_decorator():
    @record_function("wrapped")
    def twice(n):
        return 2 * n

    with profile() as prof:
        assert twice(3) == 6
    assert twice.__name__ == "twice"
    (wrapped,) = named(prof, "wrapped")
    assert [child.name.rsplit(": ")[-1] for child in wrapped.children] == ["twice"]
    assert not [event.name for event in prof.events() if event.name.endswith(": within")]


def test_I36_a_range_has_arguments(tmp_path):
    with profile() as prof:
        for n in range(2):
            with record_function("batch", f'number "{n}"'):
                work(1)
        with record_function("batch"):
            pass
    batches = named(prof, "batch")
    told = [batch.extra_fields for batch in batches]
    assert told == [{"args": 'number "0"'}, {"args": 'number "1"'}, {}]
    (row,) = [row for row in prof.key_averages() if row.key == "batch"]
    assert row.count == 3
    prof.export_chrome_trace(tmp_path / "trace.json")
    events = load_chrome(tmp_path / "trace.json")["traceEvents"]
    told = [event["args"].get("args") for event in events if event["name"] == "batch"]
    assert told == ['number "0"', 'number "1"', None]
    for wrong in ([3], ["name", 3], [None]):
        with pytest.raises(TypeError, match="of a range must be a str"):
            record_function(*wrong)


def test_names_of_ranges_are_kept_only_while_something_captures():
    first = _tracer.annotation("before all of them")
    for n in range(100):
        with record_function(f"not captured {n}", f"argument {n}"):
            pass
    assert _tracer.annotation("after all of them") == first + 1
    with profile() as prof:
        with record_function("captured"):
            pass
    assert named(prof, "captured")


def test_a_range_that_began_before_a_recorder_has_its_name():
    begun = record_function("begun before")
    begun.__enter__()
    with opyard.profiler.flight_recorder() as recorder:
        begun.__exit__(None, None, None)
        (event,) = named(recorder.dump(), "begun before")
    assert event.cuts == ["began before the profile"]


def test_I46_events_are_a_tree():
    with profile() as prof:
        with record_function("outer"):
            work()
    (outer,) = named(prof, "outer")
    (called,) = [child for child in outer.children if child.name.endswith("): work")]
    assert called.parent == outer
    leaves = [child for child in called.children if child.name.endswith("): leaf")]
    assert len(leaves) == 3
    assert called.self_time_ns <= called.duration_time_ns
    assert leaves[0].extra_fields["function_name"] == "leaf"
    assert leaves[0].extra_fields["line_number"] == leaf.__code__.co_firstlineno
    assert "leaf" in prof.events().tree()
    assert prof.events()[-1] == list(prof.events())[-1]
    with pytest.raises(IndexError):
        prof.events()[10**6]


def test_I16_instances_are_shown_by_class_and_number():
    class Layer:
        def __init__(self, size):
            self.size = size

        def __call__(self, x):
            del self  # the profile must not need it at the end
            return x

    class Dense(Layer):
        pass

    opyard.profiler.show_instances(Layer, describe=lambda layer: json.dumps({"size": layer.size}))
    layers = [Dense(3), Dense(4), Layer(5)]
    with profile() as prof:
        for layer in (*layers, layers[0]):
            layer(1)
    modules = [event for event in prof.events() if event.kind == "Module"]
    assert [event.name for event in modules] == [
        "Layer: Dense_0",
        "Layer: Dense_1",
        "Layer: Layer_0",
        "Layer: Dense_0",
    ]
    assert modules[1].extra_fields["size"] == 4
    with profile(with_modules=False) as prof:
        layers[0](1)
    assert not any(event.kind == "Module" for event in prof.events())


@plain_build  # the address sanitizer gives no address twice
def test_I16_another_instance_at_the_same_place_is_another():
    class Layer:
        def __call__(self):
            return id(self)

    opyard.profiler.show_instances(Layer)
    with profile() as prof:
        places = [Layer()() for _ in range(20)]
    assert len(set(places)) < 20
    assert len({e.name for e in prof.events() if e.kind == "Module"}) == 20


@pytest.mark.parametrize(
    "said", ["no JSON", "[1]", '{"a": NaN}', "", 3, None], ids=lambda said: repr(said)
)
def test_X17_what_describes_an_instance_leaves_the_trace_valid(tmp_path, said):
    class Layer:
        def __call__(self):
            return 1

    opyard.profiler.show_instances(Layer, describe=lambda layer: said)
    with profile() as prof:
        Layer()()
    (event,) = [event for event in prof.events() if event.kind == "Module"]
    assert event.extra_fields == {"cls_name": f"{__name__}.{Layer.__qualname__}"}
    prof.export_chrome_trace(tmp_path / "trace.json")
    assert "NaN" not in (tmp_path / "trace.json").read_text("utf-8")
    load_chrome(tmp_path / "trace.json")


def test_collections_of_garbage_are_in_the_trace():
    with profile() as prof:
        gc.collect()
    assert "garbage collection, generation 2" in {
        event.name for event in prof.events() if event.kind == "Collection"
    }
    assert not any("on_collection" in str(entry) for entry in gc.callbacks)


KEYS = [_tracer.annotation(f"range {n}") for n in range(5)]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), max_size=80))
def test_X16_whatever_ranges_are_entered_and_left_the_trace_nests(tmp_path_factory, steps):
    """Lost, doubled and foreign exits: never an exception, and every count adds up."""
    with profile(with_stack=False) as prof:
        for is_exit, number in steps:
            (_tracer.exit if is_exit else _tracer.enter)(KEYS[number])
    model, dropped, clamped = [], 0, 0
    for is_exit, number in steps:
        if not is_exit:
            model.append(number)
        elif number in model:
            while model.pop() != number:
                clamped += 1
        else:
            dropped += 1
    quality = prof.data_quality()
    assert quality["dropped exits"] == dropped
    assert quality["clamped"] == clamped
    assert quality["open after"] == len(model)
    assert len(prof.events()) == sum(not is_exit for is_exit, _ in steps)
    path = tmp_path_factory.mktemp("ranges") / "trace.json"
    prof.export_chrome_trace(path)
    assert_nested(load_chrome(path))


def test_I49_the_tensorboard_handler_writes_a_file_a_cycle(tmp_path):
    handler = opyard.profiler.tensorboard_trace_handler(tmp_path / "new", "worker")
    plan = schedule(wait=0, warmup=1, active=1, repeat=2)
    with profile(schedule=plan, on_trace_ready=handler) as p:
        for _ in range(4):
            p.step()
    files = sorted((tmp_path / "new").iterdir())
    assert len(files) == 2
    assert all(f.name.startswith("worker.") and f.name.endswith(".pt.trace.json") for f in files)


def test_I49_the_tensorboard_handler_names_the_process_and_says_if_it_cannot_write(tmp_path):
    handler = opyard.profiler.tensorboard_trace_handler(dir_name=tmp_path, use_gzip=True)
    with profile(on_trace_ready=handler):
        work()
    (file,) = tmp_path.iterdir()
    worker, time_ns, *rest = file.name.rsplit(".", 5)
    assert worker == f"{socket.gethostname()}_{os.getpid()}"
    assert int(time_ns) > 1e18
    assert rest == ["pt", "trace", "json", "gz"]
    with gzip.open(file, "rt", encoding="utf-8") as text:
        assert json.load(text)["traceEvents"]
    prof = profile(on_trace_ready=opyard.profiler.tensorboard_trace_handler(file / "within"))
    with pytest.raises(OSError, match="within"), prof:
        work()
    assert named(prof, "): leaf")  # and what was captured is there all the same


def test_nothing_is_left_after_a_profile():
    """No warning, no tool, no callback: the next profile and other tools find all as it was."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for _ in range(20):
            with profile():
                work()
    assert sys.getprofile() is None
    if sys.version_info >= (3, 12):
        assert [sys.monitoring.get_tool(n) for n in range(6)] == [None] * 6


def test_the_profiler_is_imported_without_what_reads_its_results():
    ended = run(
        """
        import opyard, sys
        before = set(sys.modules)
        import opyard.profiler
        print(sorted((sys.modules.keys() - before) & {
            "json", "re", "typing", "threading", "warnings", "opyard._profile.events",
            "opyard._profile.averages", "opyard._profile.exports", "opyard._profile.compare"}))
        """
    )
    assert ended.stdout == "[]\n", ended
