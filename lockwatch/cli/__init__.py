"""The command line: parse, call, print. Answers go to stdout, complaints to stderr, in one line each."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from io import TextIOWrapper
from typing import Final

INTERRUPTED: Final = 130
"""Exit code after ctrl+c: 128 and the signal's number."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run `lockwatch` with these arguments (None: the process's own) and give its exit code.

    Raises:
        SystemExit: nobody reads the answer to its end, as with `| head` (1), or a signal ended what ran.
    """
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):  # a name may have letters that the terminal's encoding lacks
            stream.reconfigure(errors="backslashreplace")
    try:
        from lockwatch.cli.app import run

        return run(arguments)
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        return _cannot_write(error)


def _cannot_write(error: OSError) -> int:
    from lockwatch.cli.answers import complain

    complain(error.strerror or str(error))
    if sys.stdout is not None:  # what is left of the answer goes nowhere, instead of failing again at the end
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    return 1
