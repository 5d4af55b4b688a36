"""A program that never ran, as the report and the picture of a difference show it, and screenshots
as grids of colours.

A captured program takes other times each time, and its picture is another one. So the page of a
real report is given data that is made here; the picture of a difference is made of given times.
A grid has the mean colour of each square of 40 pixels: coarse enough that another font changes
little, fine enough that a panel, a colour or a curve that is missing changes much.

    report_pictures.py PAGE     writes report_pictures.txt as a report, PAGE, looks now
"""

import base64
import json
import re
import struct
import sys
import tempfile
import zlib
from pathlib import Path

from chromium import Chromium

REFERENCES = Path(__file__).with_name("report_pictures.txt")
WIDTH, HEIGHT, SQUARE = 1200, 800, 40

# Kind, label, what of the call around it has passed when it begins, how long it takes: 0 to 1.
NAMES = [
    ("Python", "program.py(1): <module>"),
    ("Annotation", "load the data"),
    ("C", "_io.BufferedReader.read"),
    ("Module", "nn.Module: Net_0"),
    ("Operator", "aten::linear"),
    ("Kernel", "aten::addmm"),
    ("Optimizer", "Optimizer.step#SGD.step"),
    ("Collection", "generation 2"),
    ("Annotation", "<img src=x onerror=alert(1)>"),
]
CALLS = {0: [(1, 0.02, 0.3), (3, 0.35, 0.25), (3, 0.62, 0.2), (8, 0.83, 0.02), (6, 0.86, 0.12)]}
CALLS |= {1: [(2, 0.05, 0.9)], 3: [(4, 0.1, 0.4), (4, 0.55, 0.4)], 4: [(5, 0.2, 0.7)]}
CALLS |= {6: [(7, 0.4, 0.3)]}
SECOND = 10**9


def _varint(number):
    out = bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def _bars(name, start, duration, depth=0):
    yield start, duration, depth, name + 1
    for inner, after, part in CALLS.get(name, ()):
        begin = start + round(duration * after)
        yield from _bars(inner, begin, round(duration * part), depth + 1)


def _track(name, number, bars, derived=0):
    columns, time, depth_before = [bytearray() for _ in range(6)], 0, -1
    bars = list(bars)
    for start, duration, depth, of_name in bars:
        levels = max(depth_before + 1 - depth, 0)
        numbers = (start - time, duration, levels, of_name)
        for column, value in zip(columns, numbers, strict=False):
            column += _varint(value)
        time, depth_before = start, depth
    head = {"name": name, "id": number, "derived": derived, "bars": len(bars), "marks": []}
    return head | {"columns": [len(column) for column in columns]}, b"".join(columns)


def made_up_page(page, kinds):
    """The text of a report, with the made-up program in place of its own."""
    number_of = {kind[0]: n for n, kind in enumerate(kinds)}
    names = [[label, number_of[kind], "program.py", 3, label] for kind, label in NAMES]
    names.append(["Task", number_of["Task"]])
    tracks = [
        _track("MainThread", 7, _bars(0, 0, SECOND)),
        _track("a worker", 8, _bars(3, SECOND // 3, SECOND // 2)),
        _track("Task-1 (one)", 9, [(SECOND // 4, SECOND // 4, 0, len(names))], 1),
    ]
    rows = [
        [
            kind,
            label,
            n + 1,
            SECOND // (n + 1),
            SECOND // (2 * n + 2),
            SECOND // (n + 2),
            0,
            n << 20,
        ]
        for n, (label, kind, *_) in enumerate(names[:-1])
    ]
    times = [SECOND * n // 16 for n in range(16)]
    memory = {"device": "cpu", "times": times, "bytes": [(n * 7 % 16) << 20 for n in range(16)]}
    quality = {"events": 40, "lost": 0, "clock": "rdtsc", "event cost ns": 15}
    head = {"process": "program.py", "processId": 7, "duration": SECOND, "begin": 0, "merged": 0}
    head |= {"longestMerged": -1, "quality": quality, "metadata": {}, "kinds": kinds}
    head |= {"names": names, "tracks": [head for head, _ in tracks], "marksLeftOut": 0}
    head |= {"rows": rows, "rowsLeftOut": 0, "keys": [["CPU", 4, 2, SECOND // 3]]}
    head |= {"lines": [], "sampledLines": []}
    text = json.dumps(head | {"memory": [memory]}).encode()
    data = b"OPR1" + struct.pack("<I", len(text)) + text + b"".join(data for _, data in tracks)
    encoded = "plain," + base64.b64encode(data).decode()
    start = '<script id="data" type="text/plain">'
    before, _, rest = page.partition(start)
    return before + start + encoded + rest[rest.index("</script>") :]


def _difference():
    from opyard._profile.compare import Times, flame_graph

    after, before = Times(), Times()
    for times, slow, fast in ((after, 4e5, 1e5), (before, 1e5, 3e5)):
        run = times.root.called("run")
        run.own, run.called("slower now").own, run.called("faster now").own = 1e5, slow, fast
    return flame_graph(after, before)


def _grid(browser, picture):
    """A line for each row of squares, with red, green and blue of each in hexadecimal digits."""
    browser.send("Page.navigate", url="about:blank")
    encoded = base64.b64encode(picture).decode()
    return browser.run(f"""(async () => {{
      const image = new Image();
      image.src = "data:image/png;base64,{encoded}";
      await image.decode();
      const canvas = new OffscreenCanvas({WIDTH}, {HEIGHT});
      const context = canvas.getContext("2d");
      context.drawImage(image, 0, 0);
      const lines = [];
      for (let y = 0; y < {HEIGHT}; y += {SQUARE}) {{
        let line = "";
        for (let x = 0; x < {WIDTH}; x += {SQUARE}) {{
          const {{ data }} = context.getImageData(x, y, {SQUARE}, {SQUARE});
          const sums = [0, 0, 0];
          for (let i = 0; i < data.length; ++i) if (i % 4 < 3) sums[i % 4] += data[i];
          const mean = (sum) => Math.round(sum / (data.length / 4)).toString(16).padStart(2, 0);
          line += sums.map(mean).join("");
        }}
        lines.push(line);
      }}
      return lines.join("\\n");
    }})()""")


SCHEMES, TABS = ("light", "dark"), ("Functions", "Flame graph", "Memory", "Selected")
NAMES_OF_GRIDS = [*(f"{tab}, {scheme}" for scheme in SCHEMES for tab in TABS), "difference"]


def grids_of(page, names=NAMES_OF_GRIDS):
    """{name: grid} of a report's page, in both colour schemes, and of a difference's picture."""
    kinds = json.loads(_head_of(page))["kinds"]
    grids = {}
    with tempfile.TemporaryDirectory() as folder, Chromium() as browser:
        path, picture = Path(folder, "page.html"), Path(folder, "difference.svg")
        path.write_text(made_up_page(page, kinds), "utf-8")
        picture.write_text(_difference(), "utf-8")
        size = {"width": WIDTH, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": False}
        browser.send("Emulation.setDeviceMetricsOverride", **size)
        for name in names:
            tab, _, scheme = name.partition(", ")
            browser.prefer(scheme or "light")
            browser.open(path if scheme else picture)
            if scheme:
                browser.run("report.then(parts => { Object.assign(window, parts); })")
                if tab == "Selected":
                    browser.run("view.selectRange(profile.end / 4, profile.end / 2)")
                browser.run(f"document.querySelector('[data-tab=\"{tab}\"]').click()")
                browser.run("timeline.draw()")
            grids[name] = _grid(browser, browser.picture())
        if browser.errors:
            raise RuntimeError(str(browser.errors))
    return grids


def contents_of(page):
    """The data of a report, unpacked."""
    encoding, data = re.search(
        r'<script id="data" type="text/plain">(.*?),(.*?)</script>', page, re.DOTALL
    ).groups()
    contents = base64.b64decode(data)
    return zlib.decompress(contents, wbits=-15) if encoding == "deflate-raw" else contents


def _head_of(page):
    contents = contents_of(page)
    return contents[8 : 8 + struct.unpack_from("<I", contents, 4)[0]].decode()


def references():
    parts = REFERENCES.read_text("utf-8").split("\n\n")
    return dict(part.strip().split("\n", 1) for part in parts)


def unlike(one, other, most):
    """The part of the squares in which a colour of two grids differs by more than `most` of 255."""
    one, other = bytes.fromhex(one), bytes.fromhex(other)
    assert len(one) == len(other) == 3 * WIDTH * HEIGHT // SQUARE**2
    colours = [abs(a - b) for a, b in zip(one, other, strict=True)]
    squares = [max(colours[at : at + 3]) for at in range(0, len(colours), 3)]
    return sum(square > most for square in squares) / len(squares)


if __name__ == "__main__":
    found = grids_of(Path(sys.argv[1]).read_text("utf-8"))
    text = "\n\n".join(f"{name}\n{grid}" for name, grid in found.items())
    REFERENCES.write_text(text + "\n", "utf-8")
