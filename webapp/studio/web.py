"""The web process: `python -m webapp.studio.web FD` serves the pages on a socket that the launcher has bound.

The socket is the launcher's, so a web process that died is replaced without losing the address.
"""

from __future__ import annotations

import socket
import sys

import uvicorn


def main() -> None:
    listening = socket.socket(fileno=int(sys.argv[1]))
    config = uvicorn.Config(
        "webapp.asgi:application",
        lifespan="off",
        log_level="warning",
        access_log=False,
        timeout_graceful_shutdown=1,  # open event streams would wait for ever
        timeout_keep_alive=75,  # longer than a page or nginx (60 s) keeps a quiet connection, so none ends under a save
        server_header=False,
    )
    uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
