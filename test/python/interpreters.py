"""Further interpreters in this process, for programs that the tests run."""

import sys
import textwrap

if sys.version_info >= (3, 13):
    import _interpreters
else:
    import _xxsubinterpreters as _interpreters

# Before 3.12 all interpreters share one GIL.
CAN_ISOLATE = sys.version_info >= (3, 12)
KINDS = ("legacy", "isolated") if CAN_ISOLATE else ("legacy",)


class Interpreter:
    """One more interpreter; `number` is what error messages call it."""

    def __init__(self, kind):
        if sys.version_info >= (3, 13):
            self.number = int(_interpreters.create(kind))
        else:
            self._id = _interpreters.create(isolated=kind == "isolated" and CAN_ISOLATE)
            self.number = int(self._id)

    def run(self, text):
        """Runs a text there on this thread; what it raises is raised here as a RuntimeError."""
        failed = _interpreters.run_string(self.number, textwrap.dedent(text))
        if failed is not None:
            raise RuntimeError(failed.errdisplay)

    def end(self):
        _interpreters.destroy(self.number)


def name(number):
    """What error messages call an interpreter."""
    version = sys.version
    return f"CPython {version.split()[0]}" + (f", interpreter {number}" if number else "")
