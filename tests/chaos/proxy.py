"""A TCP proxy that cuts a connection around its COMMIT."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from typing import Literal

When = Literal["before", "after"]


@dataclass
class Proxy:
    """Passes bytes on; once armed the next COMMIT is cut off, and if asked nobody gets in again."""

    server: int
    when: When
    closes: bool = False
    armed: threading.Event = field(default_factory=threading.Event)
    cut: threading.Event = field(default_factory=threading.Event)
    port: int = 0

    def serve(self, listener: socket.socket) -> None:
        while True:
            try:
                client, _ = listener.accept()
            except OSError:
                return
            if self.closes and self.cut.is_set():
                client.close()
                continue
            server = socket.create_connection(("127.0.0.1", self.server))
            for work in ((client, server, True), (server, client, False)):
                threading.Thread(target=self.pump, args=work, daemon=True).start()

    def pump(self, source: socket.socket, sink: socket.socket, asks: bool) -> None:
        with suppress(OSError):
            while content := source.recv(1 << 16):
                if asks and self.armed.is_set() and b"COMMIT" in content and not self.cut.is_set():
                    self.cut.set()
                    if self.when == "after":
                        # The answer is read here, and reaches nobody.
                        sink.sendall(content)
                        threading.Event().wait(0.5)
                    break
                if not asks and self.cut.is_set() and b"COMMIT" in content:
                    break
                sink.sendall(content)
        for end in (source, sink):
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
            end.close()


@contextmanager
def cutting(server: int, when: When, *, closes: bool = False) -> Iterator[Proxy]:
    """Run a proxy before a server on the loopback."""
    proxy = Proxy(server, when, closes)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        proxy.port = listener.getsockname()[1]
        threading.Thread(target=proxy.serve, args=(listener,), daemon=True).start()
        yield proxy
        with suppress(OSError):
            listener.shutdown(socket.SHUT_RDWR)
