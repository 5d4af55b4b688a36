"""Programs whose calls are captured twice: by sys.setprofile and by opyard.profiler."""

import asyncio
import contextlib
import functools
import re


def recursion():
    def fib(n):
        return n if n < 2 else fib(n - 1) + fib(n - 2)

    fib(6)


def generators():
    def numbers():
        yield 1
        yield 2

    list(numbers())
    half_done = numbers()
    next(half_done)
    half_done.close()
    thrown = numbers()
    next(thrown)
    with contextlib.suppress(KeyError):
        thrown.throw(KeyError())

    # Not `del` here: before 3.11 sys.setprofile keeps the locals of this frame alive.
    def drop():
        next(numbers())

    drop()


def throw_that_is_caught():
    def stubborn():
        while True:
            try:
                yield 1
            except ValueError:
                yield 2

    steps = stubborn()
    next(steps)
    steps.throw(ValueError())
    next(steps)
    steps.close()


def delegation():
    def inner():
        value = yield 1
        return value

    def outer():
        result = yield from inner()
        yield result

    steps = outer()
    next(steps)
    steps.send(5)
    list(steps)


def coroutines():
    async def leaf():
        return 1

    async def root():
        return await leaf() + await leaf()

    with contextlib.suppress(StopIteration):
        root().send(None)


def async_generators():
    async def numbers():
        for n in range(3):
            yield n

    async def root():
        return [n async for n in numbers()]

    with contextlib.suppress(StopIteration):
        root().send(None)


def cancelled_tasks():
    async def sleeper():
        await asyncio.sleep(60)

    async def root():
        task = asyncio.ensure_future(sleeper())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task

    loop = asyncio.new_event_loop()
    loop.run_until_complete(root())
    loop.close()


def exceptions():
    def fails(depth):
        if depth == 0:
            raise ValueError("deep")
        fails(depth - 1)

    try:
        fails(3)
    except ValueError:
        pass
    with contextlib.suppress(IndexError):
        [].pop()
    with contextlib.suppress(TypeError):
        len(3)


class Swallows:
    def __enter__(self):
        return self

    def __exit__(self, *exception):
        return True


class Passes(Swallows):
    def __exit__(self, *exception):
        return False


def context_managers():
    with Swallows():
        raise ValueError
    with contextlib.suppress(ValueError), Passes():
        raise ValueError

    @contextlib.contextmanager
    def both():
        try:
            yield 1
        except ValueError:
            pass

    with both():
        pass
    with both():
        raise ValueError


def executed_code():
    space = {}
    exec("def f(x):\n    return abs(x)\nresult = [f(n) for n in (1, -2)]", space)
    eval("f(3)", space)


def callbacks_from_c():
    sorted([3, 1, 2], key=lambda n: -n)
    list(map(lambda n: n + 1, [1, 2]))
    functools.reduce(lambda a, b: a + b, [1, 2, 3])
    max([1, 2], key=abs)
    re.sub("a", lambda found: found.group().upper(), "banana")


class Shape:
    @classmethod
    def make(cls):
        return cls()

    @staticmethod
    def count():
        return 3

    @property
    def area(self):
        return self.count() * 2

    def __len__(self):
        return 4

    def __call__(self, x):
        return x


def methods():
    shape = Shape.make()
    shape.area  # noqa: B018
    len(shape)
    shape(1)
    "a,b".split(",")
    str.upper("a")
    [].append(1)
    list.append([], 2)
    dict.fromkeys("ab")
    {}.get(1)


class Odd:
    def __init__(self, n):
        self.n = n

    def __getattr__(self, name):
        if name.startswith("x"):
            return len(name)
        raise AttributeError(name)

    def __del__(self):
        self.n = abs(self.n)


def odd_classes():
    odd = Odd(-1)
    odd.xyz  # noqa: B018
    with contextlib.suppress(AttributeError):
        odd.other  # noqa: B018
    del odd
    Odd(2)


def unpacked_calls():
    def takes(*args, **kwargs):
        return len(args) + len(kwargs)

    takes(*[1, 2], **{"a": 1})
    max(*[1, 2])
    functools.partial(takes, 1)(2)
    functools.partial(max, 1)(2)


PROGRAMS = [
    recursion,
    generators,
    throw_that_is_caught,
    delegation,
    coroutines,
    async_generators,
    cancelled_tasks,
    exceptions,
    context_managers,
    executed_code,
    callbacks_from_c,
    methods,
    odd_classes,
    unpacked_calls,
]
