"""tools/fuzz.py: runs the fuzzers of build/fuzz, and says in one last line what they found.

`tools/test --fuzz [seconds]` calls this after the build; call that.

Each fuzzer works on a corpus of its own in build/fuzz/corpus, which begins with test/fuzz/corpus
and, for schemas, the texts of test/schemas/malformed.txt, and is kept from run to run. First of
all comes a positive control: fuzz_planted has a defect, and must find it, else nothing that the
others do not find means anything.

An input that crashes, hangs or eats memory is kept in build/fuzz/crashes. Mend what it shows and
copy it to test/fuzz/corpus/<entry>, where the ordinary tests replay it. `--keep` copies there the
smallest set of inputs of the corpus that reaches all that was reached.
"""

import argparse
import hashlib
import os
import re
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUILD = ROOT / "build/fuzz"
CORPORA = ROOT / "test/fuzz/corpus"
CONTROL_SECONDS = 300
DICTIONARY = {"planted": "schema", "round_trip": "schema"}
LONGEST_INPUT = 5120
LONGEST_KEPT = 256

ENVIRONMENT = {
    "ASAN_OPTIONS": "halt_on_error=1:detect_leaks=1:detect_stack_use_after_return=0:"
    "quarantine_size_mb=32:allocator_may_return_null=0",
    "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
    "ASAN_SYMBOLIZER_PATH": shutil.which("llvm-symbolizer-19") or "",
}


def say(text: str) -> None:
    print(text, flush=True)


def entries() -> list[str]:
    text = (ROOT / "test/fuzz/entries.def").read_text("utf-8")
    return re.findall(r"^OPYARD_FUZZ_ENTRY\((\w+),", text, re.MULTILINE)


def malformed_texts() -> list[bytes]:
    """The texts of test/schemas/malformed.txt, which says how they are written."""
    texts, in_text = [], False
    for line in (ROOT / "test/schemas/malformed.txt").read_bytes().split(b"\n"):
        is_text = line.startswith(b">")
        if is_text:
            piece = re.sub(
                rb"\\(x([0-9a-f]{2})|.)",
                lambda m: bytes.fromhex(m[2].decode()) if m[2] else {b"t": b"\t"}.get(m[1], m[1]),
                line[2:],
            )
            if in_text:
                texts[-1] += b"\n" + piece
            else:
                texts.append(piece)
        in_text = is_text
    return texts


def seeded(entry: str) -> Path:
    """The working corpus of an entry, with all that the repository has for it."""
    folder = BUILD / "corpus" / entry
    folder.mkdir(parents=True, exist_ok=True)
    folders = [entry, "round_trip"] if entry == "schema" else [entry]
    seeds = [path.read_bytes() for name in folders for path in sorted((CORPORA / name).iterdir())]
    if entry == "schema":
        seeds += malformed_texts()
    for seed in seeds:
        (folder / hashlib.sha1(seed).hexdigest()).write_bytes(seed)
    return folder


def fuzz(entry: str, folder: Path, seconds: int, *more: str) -> subprocess.CompletedProcess:
    crashes = BUILD / "crashes"
    crashes.mkdir(exist_ok=True)
    dictionary = ROOT / f"test/fuzz/{DICTIONARY.get(entry, entry)}.dict"
    command = [BUILD / f"test/fuzz/fuzz_{entry}", f"-max_total_time={seconds}", "-timeout=2"]
    command += ["-rss_limit_mb=512", f"-max_len={LONGEST_INPUT}", "-print_final_stats=1"]
    command += [f"-artifact_prefix={crashes}/{entry}-", *more]
    if dictionary.exists():
        command.append(f"-dict={dictionary}")
    return subprocess.run(
        [str(word) for word in [*command, folder]],
        env={**os.environ, **ENVIRONMENT},
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        errors="replace",
    )


def inputs_run(output: str) -> int:
    match = re.search(r"stat::number_of_executed_units:\s*(\d+)", output)
    # A fuzzer that crashed prints no statistics; its last line of progress begins with the count.
    progress = re.findall(r"^#(\d+)\s", output, re.MULTILINE)
    return int(match[1]) if match else int(progress[-1]) if progress else 0


def control() -> bool:
    """Whether the planted defect is found. What it found is no crash of ours."""
    folder = BUILD / "corpus/planted"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.copytree(CORPORA / "round_trip", folder)
    started = time.monotonic()
    done = fuzz("planted", folder, CONTROL_SECONDS, "-seed=1")
    found = done.returncode != 0 and "heap-buffer-overflow" in done.stderr
    verdict = "found" if found else "NOT FOUND"
    say(
        f"planted defect: {verdict} after {inputs_run(done.stderr)} inputs and "
        f"{time.monotonic() - started:.0f} s"
    )
    if not found:
        say(done.stderr[-3000:])
    for crash in (BUILD / "crashes").glob("planted-*"):
        crash.unlink()
    return found


def one(entry: str, seconds: int) -> tuple[str, int, bool, str]:
    done = fuzz(entry, seeded(entry), seconds)
    return entry, inputs_run(done.stderr), done.returncode == 0, done.stderr


def keep(entry: str) -> None:
    """Copies into the repository's corpus what reaches code that it does not reach."""
    found = CORPORA / entry
    before = len(list(found.iterdir()))
    program = BUILD / f"test/fuzz/fuzz_{entry}"
    command = [program, "-merge=1", "-use_counters=0", f"-max_len={LONGEST_KEPT}"]
    command += [found, BUILD / "corpus" / entry]
    subprocess.run([str(word) for word in command], check=True, stderr=subprocess.DEVNULL)
    say(f"{entry}: {len(list(found.iterdir())) - before} inputs more in {found.relative_to(ROOT)}")


def main() -> int:
    parser = argparse.ArgumentParser("tools/test --fuzz", description=__doc__)
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.add_argument("seconds", nargs="?", type=int, default=60, help="for each fuzzer")
    parser.add_argument("--only", choices=entries(), help="this fuzzer alone")
    parser.add_argument("--keep", action="store_true", help="add what was reached to the corpora")
    options = parser.parse_args()
    wanted = [options.only] if options.only else entries()
    say("== positive control")
    controlled = control()
    say(f"== {len(wanted)} fuzzers, {options.seconds} s each, two at a time")
    failed, total = [], 0
    with ThreadPoolExecutor(max_workers=2) as pool:
        for entry, count, good, output in pool.map(
            lambda entry: one(entry, options.seconds), wanted
        ):
            total += count
            say(f"{'ok' if good else 'FAILED':6}  {entry}: {count} inputs")
            if not good:
                failed.append(entry)
                say(output[-6000:])
    if options.keep and not failed:
        for entry in wanted:
            keep(entry)
    closing = f"fuzz: {len(wanted)} fuzzers, {total} inputs, {len(failed)} failed"
    say(closing + ("" if controlled else "; the planted defect was not found"))
    if failed:
        say(f"what they failed on is in {(BUILD / 'crashes').relative_to(ROOT)}")
    return 0 if controlled and not failed else 1


if __name__ == "__main__":
    sys.exit(main())
