"""The command line: parse, call, print. Answers go to stdout, complaints to stderr, in one line each."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final

INTERRUPTED: Final = 130
"""Exit code after ctrl+c: 128 and the signal's number."""
NOT_READ: Final = 1
"""Exit code when nobody reads the answer to its end, as with `| head`, or it cannot be written."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `lockwatch` with these arguments (None: the process's own) and give its exit code."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name may have letters that the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        from lockwatch.cli.answers import complain
        from lockwatch.cli.app import run

        code = run(arguments)
        if sys.stdout is not None:
            sys.stdout.flush()  # here, since at the interpreter's end a failure would be a traceback
    except KeyboardInterrupt:
        return INTERRUPTED
    except BrokenPipeError:
        _give_up_stdout()
        return NOT_READ
    except OSError as error:
        _give_up_stdout()
        complain(error.strerror or str(error))
        return NOT_READ
    return code


def _give_up_stdout() -> None:
    """Let what is still to be written go nowhere: there is nobody to read it."""
    if sys.stdout is not None:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
