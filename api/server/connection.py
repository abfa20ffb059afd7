"""The connection of a client: HTTP/1.1, with bounds on what the client may send and on how long that may take.

The parser calls back for each part of a request, and `RequestHandler` answers one request after the other. A connection
is lingered on where the client is still sending: to close it would take the answer back.
"""

from __future__ import annotations

import asyncio
import re
import select
import socket
import struct
from collections import deque
from typing import Any, cast

import httptools

from api.http.incoming import METHODS, IncomingRequest, body_too_large, head_of, incomplete, unreadable
from api.http.replies import KEPT_BY_BROWSERS, SECURITY_HEADERS, Reply
from api.server.connections import Shared
from scheduler.errors import MethodNotAllowed, ServingError

HEAD_S = 10.0  # from the first byte of a request to the end of its head
BODY_S = 30.0  # from there to the end of its body
SCARCE_S = 2.0  # to begin a request, or to end its head, where nearly all connections are taken
CLIENT_STALL_S = 30.0  # of a client that does not read
MAX_HEAD_BYTES = 32 * 1024  # as nginx's default
FRAMING_BYTES = 48 * 1024  # that chunks may add to a body: 9,800 chunks, each a call, 10 ms in all
MAX_PIPELINED = 64
LAST_BYTES, LAST_BYTES_S = 16 * 1024 * 1024, 5.0  # that a client may still send after the last answer
_ENDS = getattr(select, "POLLRDHUP", 0)  # of Linux
_TCP_INFO = getattr(socket, "TCP_INFO", 0)  # of Linux, too
_LAST_RECEIVED = struct.Struct("52xII")  # of TCP_INFO: ms since the last data, since the last packet
_CLOSES_WITH_REQUEST_MS = 250  # a client that will read on closes at once; most that give up have waited for longer
_CONTINUE = b"HTTP/1.1 100 Continue\r\n\r\n"
_METHOD = re.compile(rb"[A-Za-z]{1,32}(?= )")


class Connection(asyncio.Protocol):
    """Used in the event loop alone."""

    def __init__(self, shared: Shared, address: str, is_spare: bool) -> None:
        """`is_spare`: over the places of the process, for probes and refusals."""
        self._shared, self.address, self.is_spare = shared, address, is_spare
        self.came_late = shared.is_stopping
        self.is_lost = self.is_half_closed = self._lingers = self._is_deaf = False  # deaf: no more is parsed
        self._parser = httptools.HttpRequestParser(self)
        self._requests: deque[IncomingRequest] = deque()  # the first is being answered
        self._coming: Any = None  # whose head or body is
        self._left_bytes = MAX_HEAD_BYTES  # that may come before something ends
        self._target, self._is_head = b"", False
        self._loop = asyncio.get_running_loop()
        self._since = self._loop.time()
        self._until = self._since + shared.keep_alive_s
        self._unsent, self._stalled_until = 0, 0.0
        self.has_room = asyncio.Event()  # the client has read what was sent
        self.has_room.set()

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._shared.open.add(self)

    def connection_lost(self, exc: Exception | None) -> None:
        self.is_lost = True
        self._shared.open.discard(self)
        self._shared.places.leave(self.address)
        self.has_room.set()
        for request in self._requests:
            request.fail(incomplete())
            if request.on_left is not None:
                request.on_left()

    def data_received(self, data: bytes) -> None:
        for at in range(0, len(data), MAX_HEAD_BYTES):  # a piece may hold the end of a body and the next head
            piece = data[at : at + MAX_HEAD_BYTES]
            self._left_bytes -= len(piece)
            if not (self._lingers or self._is_deaf):
                self._parse(piece)
                if self._left_bytes < 0:
                    self._stop_parsing(body_too_large(self._shared.max_body_bytes), unreadable())
            elif self._left_bytes < 0:
                self._transport.abort()

    def _parse(self, data: bytes) -> None:
        try:
            self._parser.feed_data(data)
        except httptools.HttpParserUpgrade as offer:
            # Nobody has to take the offer up. The parser has ended the request at its head; another reads its body.
            length = self._coming.declared_bytes
            body = "Transfer-Encoding: chunked" if length is None else f"Content-Length: {length}"
            self._parser = httptools.HttpRequestParser(self)
            self._parser.feed_data(f"POST / HTTP/1.1\r\n{body}\r\n\r\n".encode())
            self._parse(data[offer.args[0] :])
        except httptools.HttpParserCallbackError:
            raise  # a fault of ours, for the event loop to log
        except httptools.HttpParserError as error:
            is_method = isinstance(error, httptools.HttpParserInvalidMethodError)
            method = _METHOD.match(data) if is_method else None  # else no line of HTTP
            # A method that is known stands at the start of an earlier request: a later one cannot be read.
            is_unknown = method is not None and method[0].decode() not in METHODS.split(", ")
            fault = MethodNotAllowed(method[0].decode(), METHODS) if method and is_unknown else unreadable()
            self._stop_parsing(incomplete(), fault)

    def on_message_begin(self) -> None:
        if self._coming is None:
            self._coming, self._is_head, self._target = IncomingRequest(self, self.address), True, b""
            self._since = self._loop.time()
            self._until = self._since + HEAD_S

    def on_url(self, url: bytes) -> None:
        self._target += url

    def on_header(self, name: bytes, value: bytes) -> None:
        if self._is_head:  # what follows a chunked body is no header
            self._coming.add_header(name, value)

    def on_headers_complete(self) -> None:
        if self._is_head:
            request, parser = self._coming, self._parser
            request.end_head(parser.get_method().decode(), parser.get_http_version(), self._target)
            request.keeps_alive = parser.get_http_version() == "1.1" and parser.should_keep_alive()
            self._left_bytes = FRAMING_BYTES
            self._end_head(request)

    def _end_head(self, request: IncomingRequest) -> None:
        self._is_head = False
        self._until = self._loop.time() + BODY_S
        if self._lingers or self._transport.is_closing():
            return
        if len(self._requests) == MAX_PIPELINED:
            request.fault = unreadable()
        self._requests.append(request)
        if len(self._requests) == 1:
            self._shared.begin(request)
        else:
            self._transport.pause_reading()

    def on_body(self, body: bytes) -> None:
        self._left_bytes += len(body)
        if not self._coming.has_ended:
            self._coming.add_body(body, self._shared.max_body_bytes)

    def on_message_complete(self) -> None:
        if self._parser.should_upgrade():
            return  # its body is still to come
        self._coming.complete()
        self._coming, self._left_bytes = None, MAX_HEAD_BYTES
        if self._lingers:
            self._transport.close()

    def _stop_parsing(self, fault_of_body: ServingError, fault_of_head: ServingError) -> None:
        """What comes cannot be read."""
        self._is_deaf, self._left_bytes = True, LAST_BYTES
        if self._coming is None or self._is_head:
            self._coming = self._coming or IncomingRequest(self)
            self._coming.fault = fault_of_head
            self._end_head(self._coming)
        elif self._coming.has_ended:
            self.close()
        else:
            self._coming.fail(fault_of_body)

    def eof_received(self) -> bool | None:
        """A client that sends no more may still read. One that gave up is asked: its kernel answers with a reset."""
        if self._lingers or not self._requests:
            return None  # the transport closes itself
        self.is_half_closed = True
        request = self._requests[0]
        if self._coming is not None:
            self._coming.fail(incomplete())
        is_waiting = request.is_complete and not request.has_begun and request.version == "1.1"
        if is_waiting and not _has_closed_with_request(self._transport):
            self._transport.write(_CONTINUE)
        return True

    def pause_writing(self) -> None:
        self.has_room.clear()
        self._transport.pause_reading()

    def resume_writing(self) -> None:
        self.has_room.set()
        if not self._requests:
            self._transport.resume_reading()

    def allow_body(self) -> None:
        if self._requests[0].headers.get("expect", "").lower() == "100-continue":
            self._transport.write(_CONTINUE)

    def respond(self, request: IncomingRequest, reply: Reply) -> None:
        if not self._is_closing():
            body = b"" if request.method == "HEAD" else reply.body
            self._transport.write(self._begin(request, reply) + cast(bytes, body))
            self._end(request)

    def start(self, request: IncomingRequest, reply: Reply, part: bytes) -> None:
        if self._is_closing():
            return
        request.is_framed = request.version == "1.1"
        coding = [("Transfer-Encoding", "chunked")] if request.is_framed else []
        head = self._begin(request, reply._replace(headers=reply.headers + coding))
        self._transport.write(head + _framed(request, part))

    def write(self, request: IncomingRequest, part: bytes) -> None:
        if self._is_closing():
            return
        self._transport.write(_framed(request, part))
        if not part:
            self._end(request)

    def _begin(self, request: IncomingRequest, reply: Reply) -> bytes:
        request.has_begun = True
        length = request.declared_bytes
        is_far = length is None or length > self._shared.max_body_bytes or "expect" in request.headers
        is_last = self._shared.is_stopping or self._shared.places.are_scarce or self._is_deaf
        if is_last or request.fault is not None or (is_far and not request.is_complete):
            request.keeps_alive = False
        headers = reply.headers + (SECURITY_HEADERS[:1] if KEPT_BY_BROWSERS in reply.headers else SECURITY_HEADERS)
        return head_of(reply.status, headers, self._shared.first_headers, request.keeps_alive)

    def _end(self, request: IncomingRequest) -> None:
        request.has_ended = True
        self._requests.popleft()
        if not request.keeps_alive or (self.is_half_closed and not self._requests):
            self.close()
        elif self._requests:
            self._shared.begin(self._requests[0])
        else:
            self._since = self._loop.time()
            self._until = self._since + (self._shared.keep_alive_s if self._coming is None else BODY_S)
            if self.has_room.is_set():
                self._transport.resume_reading()

    def look(self, now: float, are_scarce: bool) -> bool:
        """Called now and then: close it when its time is over. Returns whether it was."""
        unsent = self._transport.get_write_buffer_size()
        if not unsent or unsent != self._unsent:
            self._unsent, self._stalled_until = unsent, now + CLIENT_STALL_S
        elif now >= self._stalled_until:
            self._transport.abort()
            return True
        if self._requests:
            if self.is_half_closed and _events(self._transport) & (select.POLLHUP | select.POLLERR):
                self._transport.abort()
            elif now >= self._until and self._coming is not None:
                self._coming.fail(incomplete())
            self._since = now
        elif now >= self._until or (are_scarce and now >= self._since + SCARCE_S):
            self._transport.abort() if self._lingers else self.close()
            return True
        return False

    def close(self) -> None:
        """Let the client read its answer where it is still sending."""
        self._requests.clear()
        if (self._is_deaf or self._coming is not None) and not self.is_half_closed and not self._is_closing():
            self._lingers, self._left_bytes = True, LAST_BYTES
            self._until = self._loop.time() + LAST_BYTES_S
            self._transport.resume_reading()
            self._transport.write_eof()
        else:
            self._transport.close()

    def _is_closing(self) -> bool:
        return self._lingers or self._transport.is_closing()

    def sends_no_more(self) -> bool:
        """Whether the client has closed its sending side, also where what it has sent is still unread."""
        return self.is_half_closed or bool(_events(self._transport))


def _framed(request: IncomingRequest, part: bytes) -> bytes:
    return b"%x\r\n%b\r\n" % (len(part), part) if request.is_framed else part


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
