"""gunicorn's response, whose head leaves in one write with the first bytes of the body."""

from __future__ import annotations

import time
from functools import lru_cache

from gunicorn import SERVER
from gunicorn.http.wsgi import Response
from gunicorn.util import http_date

_http_date = lru_cache(maxsize=1)(http_date)  # the same for all responses of a second


class OneWriteResponse(Response):
    """One packet and one system call where gunicorn takes two. gunicorn's checks of the headers stay."""

    _unsent = b""

    def default_headers(self) -> list[str]:
        connection = "close" if self.should_close() else "keep-alive"
        date = _http_date(int(time.time()))
        head = f"HTTP/1.{self.req.version[1]} {self.status}\r\nServer: {SERVER}\r\nDate: {date}\r\n"
        return [head, f"Connection: {connection}\r\n", "Transfer-Encoding: chunked\r\n" if self.chunked else ""]

    def send_headers(self) -> None:
        """Keeps the head back until there is a body, or the end of the response."""
        if not self.headers_sent:
            lines = [*self.default_headers(), *[f"{name}: {value}\r\n" for name, value in self.headers], "\r\n"]
            self._unsent = "".join(lines).encode("latin-1")
            self.headers_sent = True

    def _emit_body(self, data: bytes) -> None:
        if self.chunked:
            data = b"%X\r\n%b\r\n" % (len(data), data)
        self._flush(data)

    def close(self) -> None:
        self.send_headers()
        if self.chunked:
            self._flush(b"0\r\n\r\n")
        elif self._unsent:
            self._flush(b"")

    def _flush(self, data: bytes) -> None:
        unsent, self._unsent = self._unsent, b""
        self.sock.sendall(unsent + data)
