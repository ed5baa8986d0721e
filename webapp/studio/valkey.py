"""The embedded broker of a data folder: Valkey on a unix socket, its append-only file in DATA/valkey."""

from __future__ import annotations

import signal
import socket
import subprocess
from pathlib import Path

from webapp.studio import binaries, processes
from webapp.studio.errors import StudioError
from webapp.studio.postgres import last_line
from webapp.studio.sockets import make_private


class Valkey:
    def __init__(self, *, folder: Path, sockets: Path, log: Path) -> None:
        self.folder, self.log = folder, log
        self.socket = sockets / "valkey.sock"
        self.program = binaries.valkey()
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        """Start the server and wait until it answers. Raises StudioError."""
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        make_private(self.socket.parent)
        if self.answers():  # one that is still on its way out after its launcher was killed
            self._say(b"SHUTDOWN")
            processes.wait_until(lambda: not self.answers(), limit_s=5)
        self.socket.unlink(missing_ok=True)
        self.process = processes.start(
            [
                self.program, "--port", "0", "--unixsocket", self.socket, "--unixsocketperm", "700",
                "--dir", self.folder, "--appendonly", "yes", "--save", "", "--maxmemory-policy", "noeviction",
            ],
            log=self.log,
            death=signal.SIGTERM,
        )  # fmt: skip
        if not processes.wait_until(self._up, limit_s=30):
            self.stop()
            raise StudioError(f"Valkey did not start; its last words in {self.log}: {last_line(self.log)}")

    def stop(self) -> None:
        if self.process is not None:
            processes.stop(self.process, patience_s=3)

    def answers(self) -> bool:
        return self._say(b"PING").startswith(b"+PONG")

    def _up(self) -> bool:
        assert self.process is not None
        if self.process.poll() is not None:
            raise StudioError(f"Valkey stopped at once; its last words in {self.log}: {last_line(self.log)}")
        return self.answers()

    def _say(self, word: bytes) -> bytes:
        with socket.socket(socket.AF_UNIX) as line:
            line.settimeout(2)
            try:
                line.connect(str(self.socket))
                line.sendall(word + b"\r\n")
                return line.recv(64)
            except OSError:
                return b""
