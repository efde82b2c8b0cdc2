"""Textual's way to a terminal: calmer while nothing is typed, and for a process that was stopped and goes on."""

from __future__ import annotations

import os
import re
from codecs import getincrementaldecoder
from collections.abc import Iterable
from select import select
from time import monotonic
from typing import Any, Final

from textual._xterm_parser import XTermParser
from textual.drivers.linux_driver import LinuxDriver
from textual.message import Message

from lockwatch.tui.pasting import Pastes

_BEAT_SECS: Final = 0.1
"""How often the reader of keys looks whether an escape that came alone was a key."""
_AWAKE_SECS: Final = 1.0
"""For how long after the last key it does; longer than any escape sequence takes to come."""
_CHUNK: Final = 4096
_STYLE: Final = re.compile(r"\x1b\[([\d;]*)m")
_COLOUR: Final = re.compile(r"[34]8;(?:5;\d+|2;\d+;\d+;\d+)|(?<!\d)(?:[34]\d|9[0-7]|10[0-7])(?!\d)")


class SteadyDriver(LinuxDriver):
    """Takes the terminal anew when the process goes on, however it was stopped; and sleeps while nothing comes.

    Textual takes it a second time without having let go if it was not stopped by its own key: then two threads
    read the keys, quitting hangs, and the terminal stays raw. And it looks for keys ten times a second.
    """

    _pipe: tuple[int, ...] = ()
    """What is written into its second end wakes the reader of keys; there while the terminal is taken."""

    def start_application_mode(self) -> None:
        """Take the terminal."""
        self._pipe = os.pipe()
        super().start_application_mode()  # type: ignore[no-untyped-call] # Textual's is not annotated

    def close(self) -> None:
        """Let go of the terminal; `start_application_mode` may take it again."""
        super().close()
        self._close_pipe()

    def write(self, data: str) -> None:
        """Write to the terminal; no colour, if none is wanted."""
        super().write(without_colours(data) if self._app.no_color else data)

    def disable_input(self) -> None:
        """Let the reader of keys end."""
        if self._pipe:
            os.write(self._pipe[1], b"!")
        super().disable_input()

    def run_input_thread(self) -> None:
        """Read keys, and post them, until that is to end or the terminal is gone."""
        parser, pastes = XTermParser(self._debug), Pastes()
        decode = getincrementaldecoder("utf-8")("replace").decode
        asleep_at = monotonic() + _AWAKE_SECS
        while not self.exit_event.is_set():
            timeout = _BEAT_SECS if monotonic() < asleep_at else None
            ready, _, _ = select([self.fileno, self._pipe[0]], [], [], timeout)
            if self.fileno in ready:
                asleep_at = monotonic() + _AWAKE_SECS
                data = os.read(self.fileno, _CHUNK)
                if not data:
                    return
                for part in pastes.split(decode(data)):
                    self._post(parser.feed(part) if isinstance(part, str) else [part])
            self._post(parser.tick())

    def _close_pipe(self) -> None:
        pipe, self._pipe = self._pipe, ()
        for descriptor in pipe:
            os.close(descriptor)

    def _post(self, messages: Iterable[Message]) -> None:
        for message in messages:
            self.process_message(message)

    def _sigcont_application(self, *_: Any) -> None:
        if self._must_signal_resume:
            super()._sigcont_application()
        else:
            self._app.call_later(self._take_anew)  # later: this signal may have come in the middle of a write

    def _take_anew(self) -> None:
        if self._app.is_running and self._auto_restart and self._key_thread is not None:
            self.suspend_application_mode()
            self.resume_application_mode()
            self._app.screen.refresh(repaint=True, layout=True)


def without_colours(data: str) -> str:
    """What is written to a terminal, with bold, reverse and the like, but no colour."""
    return _STYLE.sub(_colourless, data)


def _colourless(style: re.Match[str]) -> str:
    kept = [code for code in _COLOUR.sub("", style[1]).split(";") if code]
    return f"\x1b[{';'.join(kept)}m" if kept or not style[1] else ""
