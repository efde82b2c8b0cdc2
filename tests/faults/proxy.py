"""Between a client and a server: passes all on, or cuts, holds back, delays or refuses it."""

from __future__ import annotations

import socket
import struct
import threading
import time
from contextlib import suppress
from typing import Final, Self

from sqlalchemy import make_url

_RESET: Final = struct.pack("ii", 1, 0)
"""To linger for no time: closing then resets the connection."""
_CHUNK: Final = 65536


class Way:
    """One direction. While it is blocked nothing passes and nothing is said; what waits passes once it is open."""

    def __init__(self) -> None:
        self._is_open = threading.Event()
        self._is_open.set()
        self.delay_seconds = 0.0
        self.passed = 0
        """How many times something came, however long."""

    def block(self) -> None:
        """Let nothing pass any more: no byte, no end, no reset."""
        self._is_open.clear()

    def open(self) -> None:
        """Let pass what waits, and what comes."""
        self._is_open.set()

    def wait(self) -> None:
        """Return when what came may go on."""
        time.sleep(self.delay_seconds)
        self._is_open.wait()


class Proxy:
    """A port of its own that leads to the server of `url`; in a `with`.

    A black hole is both ways blocked: it resets nothing, and what was held back is delivered late, as TCP does.
    """

    def __init__(self, url: str) -> None:
        self._target = make_url(url)
        self.statements = Way()
        self.answers = Way()
        self._mutex = threading.Lock()
        self._links: list[tuple[socket.socket, socket.socket]] = []
        self._listener: socket.socket | None = socket.create_server(("127.0.0.1", 0))
        self._port: Final[int] = self._listener.getsockname()[1]

    @property
    def url(self) -> str:
        """The same database, by way of the proxy."""
        return self._target.set(host="127.0.0.1", port=self._port).render_as_string(hide_password=False)

    def __enter__(self) -> Self:
        self._listen()
        return self

    def __exit__(self, *_: object) -> None:
        self.refuse()
        self.heal()
        self.cut()

    def cut(self) -> None:
        """End all connections by a reset, on both sides; new ones are let in."""
        with self._mutex:
            links, self._links = self._links, []
        for ends in links:
            for end in ends:
                _reset(end)

    def black_hole(self) -> None:
        """Swallow all that comes, from both sides, without a word. Who connects is let in and hears nothing."""
        self.statements.block()
        self.answers.block()

    def heal(self) -> None:
        """Pass all on again, at once, and first what was held back."""
        for way in (self.statements, self.answers):
            way.delay_seconds = 0.0
            way.open()

    def refuse(self) -> None:
        """Listen no more: who connects is refused. Connections that are there stay."""
        listener, self._listener = self._listener, None
        if listener is not None:
            with suppress(OSError):
                listener.shutdown(socket.SHUT_RDWR)  # it wakes whoever waits in accept()
            listener.close()

    def admit(self) -> None:
        """Listen again, after `refuse`."""
        if self._listener is None:
            self._listener = socket.create_server(("127.0.0.1", self._port))
            self._listen()

    def _listen(self) -> None:
        threading.Thread(target=self._accept, args=(self._listener,), daemon=True).start()

    def _accept(self, listener: socket.socket) -> None:
        with suppress(OSError):
            while True:
                client, _ = listener.accept()
                self._link(client)

    def _link(self, client: socket.socket) -> None:
        try:
            server = socket.create_connection((self._target.host, self._target.port))
        except OSError:  # the server is down: who connects learns it as if there were nothing between
            _reset(client)
            return
        with self._mutex:
            self._links.append((client, server))
        for source, sink, way in ((client, server, self.statements), (server, client, self.answers)):
            source.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            threading.Thread(target=self._pass_on, args=(source, sink, way), daemon=True).start()

    def _pass_on(self, source: socket.socket, sink: socket.socket, way: Way) -> None:
        try:
            while data := source.recv(_CHUNK):
                way.passed += 1
                way.wait()
                sink.sendall(data)
            way.wait()
            sink.shutdown(socket.SHUT_WR)
        except OSError:
            way.wait()
            _reset(sink)


def _reset(end: socket.socket) -> None:
    with suppress(OSError):
        end.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, _RESET)
        end.shutdown(socket.SHUT_RDWR)
    end.close()
