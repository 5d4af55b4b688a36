"""Work that the tests profile, and its calls as profiles or sys.setprofile tell them."""

import json
import sys
from collections import defaultdict

import opyard.profiler


def setprofile_calls(program):
    """The calls inside `program`: [("call" or "return", name)], C functions with c_ in front."""
    events = []
    depth = 0

    def hear(frame, event, argument):
        nonlocal depth
        if event in ("call", "return"):
            name = f"{frame.f_code.co_name}:{frame.f_code.co_firstlineno}"
            if depth or frame.f_code is program.__code__:
                if event == "call":
                    depth += 1
                    events.append(("call", name))
                else:
                    depth -= 1
                    events.append(("return", name))
        elif depth and event in ("c_call", "c_return", "c_exception"):
            events.append(("c_call" if event == "c_call" else "c_return", argument.__name__))

    sys.setprofile(hear)
    try:
        program()
    finally:
        sys.setprofile(None)
    return events


def spans_of(prof, native_id=None):
    """The spans of each track: (kind, label, start, end, parent, flags, key, detail)."""
    profile = prof._profile
    tracks = profile.tracks()
    return [
        [profile.span(index, n) for n in range(track[2])]
        for index, track in enumerate(tracks)
        if native_id in (None, track[0])
    ]


def depth_of(event):
    """How many events are around it."""
    depth = 0
    while (event := event.parent) is not None:
        depth += 1
    return depth


def short_name(span):
    kind, label = span[0], span[1]
    if kind == "C":
        return label.rsplit(".", 1)[-1]
    place, name = label.rsplit("): ", 1)
    return f"{name}:{place.rsplit('(', 1)[1]}"


def sequence_of(spans, program):
    """Enters and exits of the calls inside `program`, as setprofile_calls() has them."""
    wanted = short_name(("Python", f"({program.__code__.co_firstlineno}): {program.__name__}"))
    root = next(
        n for n, span in enumerate(spans) if span[0] == "Python" and short_name(span) == wanted
    )
    events, stack = [], []

    def close_to(parent):
        while stack and stack[-1] != parent:
            span = spans[stack.pop()]
            if span[0] in ("Python", "C"):
                events.append(("return" if span[0] == "Python" else "c_return", short_name(span)))

    for n in range(root, len(spans)):
        if n != root and not stack:
            break
        close_to(spans[n][4])
        if n != root and not stack:
            break
        stack.append(n)
        if spans[n][0] in ("Python", "C"):
            events.append(("call" if spans[n][0] == "Python" else "c_call", short_name(spans[n])))
    close_to(None)
    return events


def profile_calls(program, **options):
    with opyard.profiler.profile(**options) as prof:
        program()
    for spans in spans_of(prof):
        if any(
            s[0] == "Python" and s[1].endswith(f"): {program.__name__}") and s[5] == 0
            for s in spans
        ):
            return sequence_of(spans, program)
    raise AssertionError(f"{program.__name__} is in no track")


def load_chrome(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def assert_nested(document):
    """No two slices of a thread overlap without one holding the other."""
    tracks = defaultdict(list)
    for event in document["traceEvents"]:
        if event["ph"] == "X":
            tracks[event["pid"], event["tid"]].append(event)
    for events in tracks.values():
        ends = []
        for event in events:  # in the order of the file: parents first
            start = round(event["ts"] * 1000)
            end = start + round(event["dur"] * 1000)
            while ends and ends[-1] <= start and ends[-1] < end:
                ends.pop()
            while ends and ends[-1] < end:
                assert ends[-1] <= start, event
                ends.pop()
            ends.append(end)


def leaf(n):
    """A call that makes no other."""
    return n + 1


def work(times=3):
    for n in range(times):
        leaf(n)


def named(results, name):
    """The events of a profile whose names end so."""
    return [event for event in results.events() if event.name.endswith(name)]
