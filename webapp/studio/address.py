"""The address of the pages: a socket on 127.0.0.1 that is bound before there is anybody to answer."""

from __future__ import annotations

import http.client
import socket

from webapp.studio.errors import StudioError

PORT = 8420


def listen(port: int | None) -> socket.socket:
    """A listening socket on 127.0.0.1: the port asked for, else the first free one from 8420. Raises StudioError."""
    if port is not None and not 1 <= port <= 65535:
        raise StudioError(f"Port {port} cannot be used: ports go from 1 to 65535.")
    for number in [port] if port is not None else range(PORT, PORT + 100):
        listening = socket.socket()
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind(("127.0.0.1", number))
            listening.listen(256)
            return listening
        except OSError as error:
            listening.close()
            if port is not None:
                raise StudioError(f"Port {port} cannot be used: {error.strerror}.") from error
    raise StudioError(f"No port from {PORT} to {PORT + 99} is free; name one with --port.")


def answers(address: str) -> bool:
    """Whether the pages answer at all."""
    line = http.client.HTTPConnection(address.removeprefix("http://"), timeout=5)
    try:
        line.request("GET", "/login/")
        return line.getresponse().status < 500
    except OSError:
        return False
    finally:
        line.close()
