"""The connection of a client: bounds on what it may send and on how long that may take, around uvicorn's protocol.

uvicorn reads and writes HTTP. Here its callbacks are counted and timed before they get there, and a connection that it
closes is lingered on where the client is still sending: closing it would take the answer back.
"""

from __future__ import annotations

import asyncio
import re
import select
import socket
import struct
from collections.abc import Callable
from typing import Any

from scheduler.errors import InvalidHeader

try:
    from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol as HttpProtocol
except ImportError:  # no wheel and no compiler: the parser in Python
    from uvicorn.protocols.http.h11_impl import H11Protocol as HttpProtocol  # type: ignore[assignment]

_PARSES_ALONE = HttpProtocol.__module__.endswith("httptools_impl")  # h11 wants to know what is sent, too
HEAD_S = 10.0  # from the first byte of a request to the end of its head
SCARCE_S = 2.0  # to begin a request, or to end its head, where nearly all connections are taken
CLIENT_STALL_S = 30.0  # of a client that does not read
MAX_HEAD_BYTES = 32 * 1024  # as nginx's default; the first bytes of the body may be among them
FRAMING_BYTES = 64 * 1024  # that chunks may add to a body
MAX_CHUNK_LINES = 16_384  # two for each chunk, and each chunk is a call: 10 ms in all
MAX_UNREAD_BYTES = 256 * 1024  # of a body that no handler has read, which are read to keep the connection
LAST_BYTES = 16 * 1024 * 1024  # that a client may still send after the answer that closes its connection
LAST_BYTES_S = 5.0
_LOOK_S = 0.1
_ENDS = getattr(select, "POLLRDHUP", 0)  # of Linux
_TCP_INFO = getattr(socket, "TCP_INFO", 0)  # of Linux, too
_LAST_RECEIVED = struct.Struct("52xII")  # of TCP_INFO: ms since the last data, since the last packet
_OFFER = re.compile(rb"\r\nupgrade(?=:)", re.IGNORECASE)  # of another protocol, which nobody has to take up
# How a packet ends that ends within one, or within the end of a head.
_CUT = re.compile(rb"\r(\n(\r|u(p(g(r(a(de?)?)?)?)?)?)?)?\Z", re.IGNORECASE)
_CLOSES_WITH_REQUEST_MS = 250  # a client that will read on closes at once; most that give up have waited for longer


class _Transport:
    """uvicorn's view of the transport: what it closes may have to be lingered on."""

    def __init__(self, transport: asyncio.Transport, connection: BoundedConnection) -> None:
        self._transport = transport
        self.held: list[bytes] | None = None
        self.close = connection.close
        self.is_closing = connection.is_closing

    def write(self, data: bytes) -> None:
        if self.held is not None:
            self.held.append(data)
        elif not self._transport.is_closing():  # uvloop raises, and uvicorn tells its last request alone
            self._transport.write(data)

    def release(self) -> None:
        held, self.held = self.held, None
        if held:
            self.write(b"".join(held))

    def __getattr__(self, name: str) -> Any:
        return getattr(self._transport, name)


class BoundedConnection(HttpProtocol):
    """Its state is that of the event loop, which alone uses it; but any thread may ask `has_left`."""

    address: str  # of the client
    is_spare = False  # over the places of the process, for probes and refusals

    def connection_made(self, transport: Any) -> None:
        self._own = transport
        self._limits = self.app_state["limits"]
        self.app_state = {"connection": self}  # what its requests find in their scope
        self.came_late = self._limits.is_stopping
        self.is_half_closed = self.is_broken = self.is_too_long = False
        self._is_lost = self._lingers = self._is_head = False
        self._left_bytes = MAX_HEAD_BYTES
        self._num_lines = 0
        self._since = self.loop.time()
        self._until = self._since + self._limits.keep_alive_s
        self._unsent = 0
        self._stalled_until = 0.0
        self._on_left: Callable[[], None] | None = None
        self._out = _Transport(transport, self)
        self.release = self._out.release
        super().connection_made(self._out)  # type: ignore[arg-type]

    def connection_lost(self, exc: Exception | None) -> None:
        self._is_lost = True
        self._limits.places.leave(self.address)
        if self._on_left is not None:
            self._on_left()
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._lingers or self.is_broken or self.is_too_long:
            self._left_bytes -= len(data)
            if self._left_bytes < 0:
                self._own.abort()
            return
        is_open = self.is_open
        if not is_open and not self._is_head:
            self._is_head, self._since, self._num_lines, self._cut = True, self.loop.time(), 0, b""
            self._until = self._since + HEAD_S
            unread = MAX_UNREAD_BYTES if self.cycle is not None and self.cycle.more_body else 0
            self._left_bytes = MAX_HEAD_BYTES + unread
            if len(data) > self._left_bytes:  # a body may begin in it
                self._feed(data[: self._left_bytes])
                data = data[MAX_HEAD_BYTES + unread :]
        self._feed(data)

    def _feed(self, data: bytes) -> None:
        self._left_bytes -= len(data)
        self._num_lines += data.count(b"\r\n")
        if self._left_bytes < 0 or (self._num_lines > MAX_CHUNK_LINES and self.is_open and self._is_chunked()):
            if self.is_open:
                self.is_too_long = True
                self._cut_body()
            elif not self._lingers:
                self.send_400_response("")
            return
        if self._is_head:  # httptools ends a request at its head where it offers an upgrade, and its body is lost
            head, end, rest = (self._cut + data).partition(b"\r\n\r\n")
            cut = None if end else _CUT.search(head)
            head, self._cut = (head, b"") if cut is None else (head[: cut.start()], cut[0])
            data = _OFFER.sub(b"\r\nX-Offer", head) + end + rest
            if not data:
                return
        cycle = self.cycle
        super().data_received(data)
        if self.cycle is not cycle:  # a head has ended
            self._is_head = False
            self._until = self.loop.time() + self._limits.keep_alive_s
            self._left_bytes = self._limits.max_body_bytes + FRAMING_BYTES
            if self.is_half_closed:
                self.cycle.keep_alive = False

    def on_headers_complete(self) -> None:
        super().on_headers_complete()
        self.headers = []  # the scope has its own: what follows a chunked body is no header

    def eof_received(self) -> bool | None:  # type: ignore[override]
        """A client that sends no more may still read. One that gave up is asked: its kernel answers with a reset."""
        if self._lingers or not self.is_open:
            return None  # the transport closes itself
        self.is_half_closed = True
        self._cut_body()
        is_asked = self.scope["http_version"] == "1.1" and not self.cycle.more_body and not self.cycle.response_started
        if is_asked and not _has_closed_with_request(self._own):
            self._own.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        self.loop.call_later(_LOOK_S, self._look_for_reset)
        return True

    def send_400_response(self, msg: str) -> None:
        """uvicorn cannot read what has come."""
        if self.is_open:
            self.is_broken = True
            self._cut_body()
        else:
            error = InvalidHeader("The request line or a header cannot be read, or is too long.")
            self._own.write(self._limits.refusal(error))
            self._linger()

    def _is_chunked(self) -> bool:
        return any(name == b"transfer-encoding" for name, _ in self.cycle.scope["headers"])

    def _cut_body(self) -> None:
        """No more of it goes to the application; who waits for it learns that."""
        self._left_bytes = LAST_BYTES
        self.cycle.keep_alive = False
        self.cycle.message_event.set()

    @property
    def is_open(self) -> bool:
        """Whether a request has come and its answer has not gone."""
        return self.cycle is not None and not self.cycle.response_complete

    @property
    def is_cut(self) -> bool:
        """Whether a body has not come in full, and no more of it can be received."""
        is_over = self.is_half_closed or self.is_broken or self.is_too_long or self._is_lost
        return is_over and self.cycle.more_body and not self.cycle.body

    def has_left(self) -> bool:
        return self._is_lost

    def when_left(self, call: Callable[[], None] | None) -> None:
        self._on_left = call
        if self._is_lost and call is not None:
            call()

    def before_answer(self, closes: bool, declared_bytes: int | None) -> list[tuple[bytes, bytes]]:
        """The answer is ready; returns headers to add. `declared_bytes`: of the body, of which some may be unread;
        None: it ends by itself.

        What is written until `release` leaves in one packet: a head with its body.
        """
        self._out.held = []
        cycle = self.cycle
        is_far = declared_bytes is None or declared_bytes > MAX_UNREAD_BYTES or cycle.waiting_for_100_continue
        if closes or (cycle.more_body and is_far):
            cycle.keep_alive = False
        return (
            [] if cycle.keep_alive else [(b"connection", b"close")]
        )  # which uvicorn writes by one of its parsers only

    @property
    def takes_whole_answers(self) -> bool:
        """uvicorn looks through each header twice, which takes a twelfth of the CPU time of this process."""
        is_last = _PARSES_ALONE and not self.pipeline  # else `cycle` is that of a later request
        return is_last and not (self.flow.write_paused or self.cycle.disconnected)

    def answer(self, data: bytes) -> None:
        cycle = self.cycle
        self._out.held = None
        self._out.write(data)
        cycle.response_started = cycle.response_complete = True
        cycle.message_event.set()
        if cycle.keep_alive:
            self.flow.resume_reading()  # `look` closes it when its time is over
        else:
            self.close()

    def look(self, now: float, are_scarce: bool) -> bool:
        """Called now and then: close it when its time is over. Returns whether it was."""
        unsent = self._own.get_write_buffer_size()
        if not unsent or unsent != self._unsent:
            self._unsent, self._stalled_until = unsent, now + CLIENT_STALL_S
        elif now >= self._stalled_until:
            self._own.abort()
            return True
        if self.is_open and not self._lingers:
            self._since, self._until = now, now + self._limits.keep_alive_s
        elif now >= self._until or (are_scarce and now >= self._since + SCARCE_S):
            self._own.abort() if self._lingers else self.close()
            return True
        return False

    def close(self) -> None:
        """Let the client read its answer where it is still sending."""
        self._out.release()
        is_sending = self.is_broken or self.is_too_long or (self.cycle is not None and self.cycle.more_body)
        if is_sending and not self.is_half_closed and not self._own.is_closing():
            self._linger()
        else:
            self._own.close()

    def is_closing(self) -> bool:
        return self._lingers or self._own.is_closing()

    def sends_no_more(self) -> bool:
        """Whether the client has closed its sending side, also where what it has sent is still unread."""
        return self.is_half_closed or bool(_events(self._own))

    def _linger(self) -> None:
        if not self._lingers:
            self._lingers, self._left_bytes = True, LAST_BYTES
            self._until = self.loop.time() + LAST_BYTES_S
            self.flow.resume_reading()
            self._own.write_eof()

    def _look_for_reset(self) -> None:
        """Once the client sends no more the event loop looks at the connection no longer."""
        if self._is_lost or not self.is_open:
            return
        if _events(self._own) & (select.POLLHUP | select.POLLERR):
            self._own.abort()
        else:
            self.loop.call_later(_LOOK_S, self._look_for_reset)


def _events(transport: Any) -> int:
    poll = select.poll()
    poll.register(transport.get_extra_info("socket").fileno(), _ENDS)
    return sum([events for _, events in poll.poll(0)])


def _has_closed_with_request(transport: Any) -> bool:
    """By the kernel's times, so that it does not matter how late we look."""
    try:
        info = transport.get_extra_info("socket").getsockopt(socket.IPPROTO_TCP, _TCP_INFO, _LAST_RECEIVED.size)
    except OSError:  # not TCP
        return True
    last_data_ms, last_packet_ms = _LAST_RECEIVED.unpack(info)
    return bool(last_data_ms - last_packet_ms < _CLOSES_WITH_REQUEST_MS)
