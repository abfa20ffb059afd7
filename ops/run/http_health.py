"""Container health of an HTTP port: `python -m ops.run.http_health 8000 /healthz 200` exits 0 if that is the answer.

Imports next to nothing: it is run every few seconds for as long as a container lives.
"""

from __future__ import annotations

import socket
import sys

PATIENCE_S = 3.0


def status_of(port: int, path: str) -> int:
    """The status of GET `path` on loopback. Raises OSError where there is no answer, ValueError where it is no HTTP."""
    with socket.create_connection(("127.0.0.1", port), PATIENCE_S) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        with connection.makefile("rb") as answer:
            version, _, rest = answer.readline(256).partition(b" ")
    if not version.startswith(b"HTTP/1."):
        raise ValueError("the answer is no HTTP")
    return int(rest[:3])


def main(port: str, path: str, wanted: str) -> None:
    try:
        status = status_of(int(port), path)
    except (OSError, ValueError) as error:
        sys.exit(f"GET {path} on port {port}: {error}")
    sys.exit(0 if status == int(wanted) else f"GET {path} on port {port} answers {status}, not {wanted}")


if __name__ == "__main__":
    main(*sys.argv[1:])
