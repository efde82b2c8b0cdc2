"""The command line: parse, call, print. Answers go to stdout, complaints to stderr, in one line each."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final

INTERRUPTED: Final = 130
"""Exit code after ctrl+c: 128 and the signal's number."""
BROKEN_PIPE: Final = 141
"""Exit code when nobody reads the answer to its end, as with `| head`: 128 and the signal's number."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `lockwatch` with these arguments (None: the process's own) and give its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name may have letters that the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        from lockwatch.cli.app import run

        code = run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, since at the interpreter's end a failure would be a traceback
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_stdout()
        return BROKEN_PIPE
    except OSError as error:
        _give_up_stdout()
        sys.stderr.write(f"lockwatch: the answer cannot be written: {error.strerror}\n")
        return 1
    return code


def _give_up_stdout() -> None:
    """Let what is still to be written go nowhere: there is nobody to read it."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
