"""Classifies real handwriting with operators from C++, one overridden from Python in mid-run.

python train.py [--epochs 45] [--seed 0] [--shuffle-labels] [--library PATH] [--profile [FILE]]
                [--diff]

Needs NumPy, and the library that meson.build beside this file makes. Ends with the accuracy on
450 images that were not trained on.
"""

import argparse
import sys
from contextlib import nullcontext
from pathlib import Path

import data
import numpy as np
from deskew_numpy import DeskewInNumPy
from network import Network

import opyard
from opyard.dispatch import explain
from opyard.library import override
from opyard.profiler import profile

HERE = Path(__file__).resolve().parent
TRAIN = 1347
BATCH = 64
SHADES = " ░▒▓█"


def find_library() -> Path:
    """The built libdigits.so: in the folder the demo builds in, or beside this file."""
    places = [HERE.parent.parent / "build" / "digits", HERE / "build", HERE]
    for place in places:
        for name in ("libdigits.so", "digits.so"):
            if (place / name).exists():
                return place / name
    raise SystemExit(
        "libdigits.so is not built. Run tools/demo, or: meson setup build && ninja -C build"
    )


def show_route(when: str, images: opyard.Tensor, in_numpy: DeskewInNumPy) -> opyard.Tensor:
    """Makes one call of digits::deskew, and says where it went: as explained, and as counted."""
    deskew = opyard.ops.digits.deskew
    route = explain(deskew, images)
    before = opyard.ops.digits.calls("deskew"), in_numpy.calls
    result = deskew(images)
    after = opyard.ops.digits.calls("deskew"), in_numpy.calls
    went_to = {(1, 0): "the C++ kernel", (0, 1): "the NumPy kernel"}[
        after[0] - before[0], after[1] - before[1]
    ]
    print(f"{when}: digits::deskew goes to {route.key.name}, {route.kernel}")
    print(f"{'':{len(when)}}  counted: C++ {after[0]}, NumPy {after[1]}; this call ran {went_to}")
    return result


def draw(images: np.ndarray, labels: np.ndarray, predicted: np.ndarray, columns: int = 5) -> None:
    """Draws a few images side by side; a wrong prediction shows the label it missed."""
    wrong = np.flatnonzero(labels != predicted)[:2]
    right = np.flatnonzero(labels == predicted)[: columns - len(wrong)]
    chosen = [*right, *wrong]
    for row in range(8):
        shades = np.rint(images[chosen, row * 8 : row * 8 + 8] * (len(SHADES) - 1)).astype(int)
        print("  ".join("".join(SHADES[shade] * 2 for shade in line) for line in shades).rstrip())
    captions = [
        f"{predicted[i]}" if predicted[i] == labels[i] else f"{predicted[i]}, but is {labels[i]}"
        for i in chosen
    ]
    print("  ".join(f"{caption:^16}" for caption in captions).rstrip())


def progress(epoch: int, epochs: int, loss: float, kernel: str) -> None:
    """One line that rewrites itself on a terminal; every fifth one in a file."""
    bar = "█" * (epoch * 30 // epochs)
    line = f"epoch {epoch:3}/{epochs} ▕{bar:30}▏ loss {loss:.4f}  deskew in {kernel:5}"
    if sys.stdout.isatty():
        print(f"\r{line}", end="" if epoch < epochs else "\n", flush=True)
    elif epoch % 5 == 0 or epoch == epochs:
        print(line, flush=True)


def train(network: Network, images, labels, epochs: range, total: int, seed: int, kernel: str):
    """Trains for some epochs: each sees the images moved anew, then straightened."""
    for epoch in epochs:
        changed = opyard.ops.digits.augment(images, seed=seed * 1000 + epoch)
        straight = opyard.ops.digits.deskew(changed)
        order = np.random.default_rng((seed, epoch)).permutation(TRAIN)
        order = opyard.from_numpy(order.astype(np.int64))
        losses = []
        for start in range(0, TRAIN, BATCH):
            batch = order[start : start + BATCH]
            rate = 0.1 * (1 - epoch / total)
            losses.append(network.step(straight[batch], labels[batch], rate))
        progress(epoch + 1, total, float(np.mean(losses)), kernel)


def compare(later: profile, former: profile, picture: Path) -> None:
    """Says what takes longer in one than in the other."""
    difference = later.diff(former)
    print("\n".join(difference.splitlines()[:14]))
    difference.flame_graph(picture)
    print(f"both runs as a flame graph: {picture.resolve()}")


def main() -> None:
    """Trains, overrides digits::deskew for the middle third, removes that, and measures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=45, help="at least 3 (default: 45)")
    parser.add_argument("--seed", type=int, default=0, help="of the split and the weights")
    parser.add_argument(
        "--shuffle-labels", action="store_true", help="train on labels that mean nothing"
    )
    parser.add_argument("--library", type=Path, help="the built libdigits.so")
    parser.add_argument(
        "--profile",
        type=Path,
        nargs="?",
        const=Path("profile.html"),
        metavar="FILE",
        help="profile the training, and write what was seen as a page (default: profile.html)",
    )
    parser.add_argument(
        "--diff", action="store_true", help="with --profile: compare a run with NumPy's kernel"
    )
    options = parser.parse_args()
    if options.epochs < 3:
        parser.error("--epochs must be at least 3")
    if options.diff and options.profile is None:
        parser.error("--diff compares two profiles: give --profile, too")

    opyard.load_library(str(options.library or find_library()))
    (images, labels), (held_out, held_out_labels) = data.split(*data.load(), TRAIN, options.seed)
    random = np.random.default_rng(options.seed)
    if options.shuffle_labels:
        labels = random.permutation(labels)
    print(f"{len(images)} images to train on, {len(held_out)} held out")

    opyard.manual_seed(options.seed)
    network = Network(data.PIXELS, 128, 10)
    images, labels = opyard.from_numpy(images), opyard.from_numpy(labels)
    sample = images[:16]
    in_numpy = DeskewInNumPy()
    third = options.epochs // 3
    stages = [range(third), range(third, 2 * third), range(2 * third, options.epochs)]

    prof = profile(profile_memory=True) if options.profile is not None else nullcontext()
    with prof:
        first = show_route("before  ", sample, in_numpy)
        train(network, images, labels, stages[0], options.epochs, options.seed, "C++")
        with override("digits::deskew", "CPU", in_numpy):
            second = show_route("override", sample, in_numpy)
            train(network, images, labels, stages[1], options.epochs, options.seed, "NumPy")
        third_result = show_route("after   ", sample, in_numpy)
        train(network, images, labels, stages[2], options.epochs, options.seed, "C++")
    print(f"C++ and NumPy differ by at most {(first - second).abs().max().item():.1e}")
    assert (first == third_result).all().item()

    straight = opyard.ops.digits.deskew(opyard.from_numpy(held_out))
    predicted = network.predict(straight).numpy()
    draw(held_out, held_out_labels, predicted)
    accuracy = float((predicted == held_out_labels).mean())
    print(f"accuracy {accuracy:.4f} on {len(held_out)} held-out images")
    if options.profile is not None:
        prof.export(options.profile, "html")
        print(f"where the time went, for any browser: {options.profile.resolve()}")
    if options.diff:
        opyard.manual_seed(options.seed)
        network = Network(data.PIXELS, 128, 10)
        epochs = range(options.epochs)
        # Called from here, as the first time: so both are the same stack to the flame graph.
        with override("digits::deskew", "CPU", in_numpy), profile(profile_memory=True) as later:
            train(network, images, labels, epochs, options.epochs, options.seed, "NumPy")
        compare(later, prof, options.profile.with_suffix(".diff.svg"))


if __name__ == "__main__":
    main()
