"""Textual's way to a terminal, but for a process that was stopped from outside and goes on."""

from __future__ import annotations

from typing import Any

from textual.drivers.linux_driver import LinuxDriver


class SteadyDriver(LinuxDriver):
    """Takes the terminal anew when the process goes on, however it was stopped.

    Textual takes it a second time without having let go if it was not stopped by its own key: then two threads
    read the keys, quitting hangs, and the terminal stays raw.
    """

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
