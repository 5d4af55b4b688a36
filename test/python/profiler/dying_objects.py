"""A program whose objects run code while they die: each kind of object, in one way of dying.

    python dying_objects.py CAPTURE WAY

CAPTURE is profile, options, flight or none (the command captures, then). What dies is said line by
line, so the last line names what ended the process. See test_profiler_dying.py.
"""

import asyncio
import collections
import contextlib
import functools
import gc
import io
import sys
import threading
import types
import weakref


@types.coroutine
def pause():
    yield


def work():
    return len([abs(n) for n in range(3)])


# Coroutines and generators: what they do when they are freed.


async def finishes():
    try:
        await pause()
    finally:
        work()


async def raises():
    try:
        await pause()
    except GeneratorExit:
        work()
        raise ValueError("while dying") from None


async def goes_on():
    while True:
        try:
            await pause()
        except GeneratorExit:
            work()


async def awaits_another():
    try:
        await finishes()
    finally:
        work()


async def numbers():
    try:
        yield 1
        await pause()
        yield 2
    finally:
        work()


def generator():
    try:
        yield from (yield 1)
    finally:
        work()


@types.coroutine
def old_coroutine():
    try:
        yield 1
    finally:
        work()


def suspended(coroutine):
    coroutine.send(None)
    return coroutine


def suspended_numbers():
    one = numbers()
    with contextlib.suppress(StopIteration):
        one.asend(None).send(None)
    suspended(one.asend(None))
    return one


def resumed_by_its_hook():
    def hook(one):
        for step in (one.asend(None), one.__anext__(), one.aclose()):
            with contextlib.suppress(StopIteration, StopAsyncIteration, RuntimeError):
                step.send(None)

    former = sys.get_asyncgen_hooks()
    sys.set_asyncgen_hooks(finalizer=hook)
    try:
        one = numbers()
        with contextlib.suppress(StopIteration):
            one.asend(None).send(None)
        return one
    finally:
        sys.set_asyncgen_hooks(*former)


# Objects with a __del__, which a profile may show by instance.


class Plain:
    def method(self):
        return work()

    def __call__(self):
        return self.method()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        work()

    def __iter__(self):
        return iter([self.method()])

    def __del__(self):
        self.method()
        self()
        type(self).method(self)
        functools.partial(self.method)()
        list(map(Plain.method, [self]))
        sorted([2, 1], key=self.by)
        with self:
            list(self)
        repr(self)

    def by(self, n):
        return n


class Slots(Plain):
    __slots__ = ()


class NoWeakReferences:
    __slots__ = ("field",)

    def method(self):
        return work()

    def __del__(self):
        self.method()
        NoWeakReferences.method(self)


class Set(Plain, set):
    pass


class Deque(Plain, collections.deque):
    pass


class Stream(Plain, io.BytesIO):
    __iter__ = io.BytesIO.__iter__
    __exit__ = Plain.__exit__


class Future(Plain, asyncio.Future):
    __iter__ = Plain.__iter__

    def __init__(self):
        super().__init__(loop=LOOP)


class Failure(Plain, Exception):
    pass


class Local(Plain, threading.local):
    pass


class Meta(type):
    def __del__(cls):
        cls.name_of(cls)

    def name_of(cls):
        return work()


RESURRECTED = []


class Resurrected(Plain):
    def __del__(self):
        super().__del__()
        if len(RESURRECTED) < 3:
            RESURRECTED.append(self)


def of_a_new_class():
    return Meta("New", (), {})


def of_a_new_code():
    names: dict[str, object] = {}
    exec("class Made:\n  def __del__(self):\n    len([self])\n    (lambda: abs(-1))()", names)
    return names.pop("Made")()


def with_a_finalizer():
    one = Plain()
    weakref.finalize(one, work)
    return one


def raising():
    try:
        raise Failure
    except Failure as failure:
        return failure


LOOP = asyncio.new_event_loop()

KINDS = {
    "coroutine": lambda: suspended(finishes()),
    "coroutine that raises": lambda: suspended(raises()),
    "coroutine that goes on": lambda: suspended(goes_on()),
    "coroutine that awaits": lambda: suspended(awaits_another()),
    "coroutine that never began": finishes,
    "coroutine that has ended": lambda: ended(finishes()),
    "async generator": suspended_numbers,
    "async generator that never began": numbers,
    "async generator of a hook": resumed_by_its_hook,
    "asend that never began": lambda: numbers().asend(None),
    "athrow that never began": lambda: numbers().athrow(ValueError),
    "generator": lambda: suspended(generator()),
    "generator that never began": generator,
    "old coroutine": lambda: suspended(old_coroutine()),
    "instance": Plain,
    "instance with slots": Slots,
    "instance without weak references": NoWeakReferences,
    "set": Set,
    "deque": Deque,
    "stream": Stream,
    "future": Future,
    "exception": Failure,
    "exception with a traceback": raising,
    "thread's own": Local,
    "class": of_a_new_class,
    "code": of_a_new_code,
    "finalizer": with_a_finalizer,
    "resurrected": Resurrected,
    "bound method": lambda: Plain().method,
    "partial": lambda: functools.partial(Plain().method),
    "closure": lambda: (lambda one: lambda: one)(Plain()),
    "iterator": lambda: map(Plain().by, [1, 2]),
}


def ended(coroutine):
    suspended(coroutine)
    with contextlib.suppress(StopIteration):
        coroutine.send(None)
    return coroutine


class Holder:
    pass


def by_count(make):
    one = make()
    del one


def in_a_callback(make):
    def drop(_):
        work()
        box.clear()

    box = [make()]
    holder = Holder()
    watch = weakref.ref(holder, drop)
    del holder
    assert watch() is None


def in_a_finalizer(make):
    class Owner:
        def __init__(self):
            self.one = make()

        def __del__(self):
            work()
            del self.one

    Owner()


def in_the_collector(make):
    holder = Holder()
    holder.itself, holder.one = holder, make()
    with contextlib.suppress(AttributeError, TypeError):
        holder.one.__dict__["holder"] = holder
    del holder
    gc.collect()


def in_a_frame_of_its_own(make):
    """A suspended coroutine that holds itself dies in the collector, and holds the object."""

    async def holds():
        one, itself = make(), box[0]
        try:
            await pause()
        finally:
            work()
            del one, itself

    box = [holds()]
    suspended(box[0])
    box.clear()
    gc.collect()


def in_an_exception(make):
    def leave():
        one = make()
        raise KeyError(type(one).__name__)

    with contextlib.suppress(KeyError):
        leave()


def on_a_thread(make):
    box = [make()]
    thread = threading.Thread(target=box.clear)
    thread.start()
    thread.join()


def at_the_end_of_a_thread(make):
    place = threading.local()

    def put():
        place.one = make()

    thread = threading.Thread(target=put)
    thread.start()
    thread.join()


AT_EXIT = []


def at_exit(make):
    AT_EXIT.append(make())


WAYS = {
    way.__name__: way
    for way in (
        by_count,
        in_a_callback,
        in_a_finalizer,
        in_the_collector,
        in_a_frame_of_its_own,
        in_an_exception,
        on_a_thread,
        at_the_end_of_a_thread,
        at_exit,
    )
}


def fill_what_was_freed():
    """So that what leads to freed memory finds other objects there."""
    return [[bytearray(48), [None] * 5, {n: n}, {n}] for n in range(200)]


def all_kinds(way):
    for kind, make in KINDS.items():
        sys.stdout.write(f"{kind}\n")
        sys.stdout.flush()
        WAYS[way](make)
        fill_what_was_freed()
    gc.collect()


def capture_of(kind):
    if kind == "none":
        return contextlib.nullcontext()
    from opyard import profiler

    for one in (Plain, NoWeakReferences, Slots, Set, Deque, Stream, Future):
        profiler.show_instances(one, "method")
    profiler.show_instances(Plain, "by")
    if kind == "flight":
        return profiler.flight_recorder(bytes=1 << 20)
    return profiler.profile(profile_memory=True, **OPTIONS[kind])


OPTIONS = {"profile": {}, "options": {"lines": True, "max_depth": 4}}


def main():
    kind, way = sys.argv[1:]
    sys.unraisablehook = lambda _: None  # some raise on purpose
    started_before = [make() for make in KINDS.values()]  # and die within
    with capture_of(kind) as one:
        all_kinds(way)
        while started_before:
            started_before.pop()
        fill_what_was_freed()
        if kind == "flight":
            one.dump()
    if way == "at_exit" and kind == "flight":
        last = capture_of(kind)
        last.start()  # and no one stops it
        AT_EXIT.append(last)
    sys.stdout.write("the end\n")


if __name__ == "__main__":
    main()
