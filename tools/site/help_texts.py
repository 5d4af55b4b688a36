"""tools/site/help_texts.py: what each program of Opyard answers to --help, as JSON.

    help_texts.py <the built opyard-run>

Run by the Python that imports the package.
"""

import json
import os
import subprocess
import sys

COMMANDS = {
    "python -m opyard, opyard-config": ["-m", "opyard"],
    "python -m opyard operators": ["-m", "opyard", "operators"],
    "python -m opyard run": ["-m", "opyard", "run"],
    "python -m opyard stubs": ["-m", "opyard", "stubs"],
    "python -m opyard.profiler": ["-m", "opyard.profiler"],
    "python -m opyard.profiler diff": ["-m", "opyard.profiler", "diff"],
    "python -m opyard.profiler recover": ["-m", "opyard.profiler", "recover"],
}


def answer(command: "list[str]") -> str:
    environment = {**os.environ, "COLUMNS": "96", "NO_COLOR": "1"}
    done = subprocess.run(
        [*command, "--help"], env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode != 0 or not done.stdout.strip():
        raise SystemExit(f"{' '.join(command)} --help: {done.returncode}\n{done.stderr}")
    return done.stdout


def main(program: str) -> None:
    said = [[name, answer([sys.executable, *command])] for name, command in COMMANDS.items()]
    said.append(["opyard-run", answer([program])])
    json.dump(said, sys.stdout, indent=1)


if __name__ == "__main__":
    main(sys.argv[1])
