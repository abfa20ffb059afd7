"""Looks at the system for all who watch through this process, and at nothing while nobody does.

A thread of its own asks Redis a few times a second and gives what it finds to every viewer.
It begins with the first viewer and ends after the last.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Generator
from queue import Empty, Full, Queue

from api.live.figures import figures
from api.services import Services
from scheduler.capacity.measure import goals_of
from scheduler.capacity.observed import Observed
from scheduler.errors import RateLimited, ServingError

MOST_VIEWERS = 32  # of one process
LOOK_EVERY_S = 0.25
_FIGURES_EVERY = 4  # looks: they cost the most of it
_KEPT_S = 10.0  # of which rates are taken
_MOST_BEHIND = 40  # looks that a viewer has not read
_SILENCE_S = 1.0
logger = logging.getLogger(__name__)


class Hub:
    """Any thread may watch."""

    def __init__(self, services: Services) -> None:
        self._observer, self._goals, self._clock = services.observer, goals_of(services.settings), services.clock
        self._lock = threading.Lock()
        self._viewers: dict[Queue[bytes], str] = {}  # and whose each is; oldest first
        self._is_looking = False  # a thread does
        self._seen: deque[Observed] = deque()
        self._place = ""  # behind the news that were read

    def watch(self, is_over: Callable[[], bool], client: str = "") -> Generator[bytes]:
        """The body of an event stream. Raises RateLimited where too many watch already."""
        queue: Queue[bytes] = Queue(_MOST_BEHIND)
        with self._lock:
            if len(self._viewers) >= MOST_VIEWERS:
                self._make_room(client)
            self._viewers[queue] = client
            if not self._is_looking:
                self._is_looking = True
                threading.Thread(target=self._look_while_watched, name="live", daemon=True).start()
        return self._events(queue, is_over)

    def _make_room(self, client: str) -> None:
        """End the oldest stream of the client that has most. Raises RateLimited for one that would have as many."""
        held = Counter(self._viewers.values())
        greediest, most = held.most_common(1)[0]
        if held[client] + 1 >= most:
            raise RateLimited(f"{MOST_VIEWERS} viewers watch through this replica; try again later.", 10.0)
        del self._viewers[next(queue for queue, each in self._viewers.items() if each == greediest)]

    def _events(self, queue: Queue[bytes], is_over: Callable[[], bool]) -> Generator[bytes]:
        try:
            yield b"retry: 1000\n\n"
            while not is_over() and queue in self._viewers:
                try:
                    yield queue.get(timeout=_SILENCE_S)
                except Empty:
                    yield b": nothing new\n\n"
        finally:
            with self._lock:
                self._viewers.pop(queue, None)

    def _look_while_watched(self) -> None:
        number = 0
        self._seen.clear()
        self._place = ""
        while self._has_viewers():
            began_s = self._clock()
            try:
                self._look(number)
            except ServingError as error:
                self._tell(_event("problem", json.dumps({"detail": str(error)})))
            except Exception:  # one look that fails must not be the last one
                logger.exception("a look for the live view failed")
            number += 1
            time.sleep(max(LOOK_EVERY_S / 5, LOOK_EVERY_S - (self._clock() - began_s)))

    def _has_viewers(self) -> bool:
        """Whether to go on. One that comes after the last look of this thread begins another."""
        with self._lock:
            self._is_looking = bool(self._viewers)
            return self._is_looking

    def _look(self, number: int) -> None:
        if number % _FIGURES_EVERY == 0:
            seen = self._observer.observe()
            self._seen.append(seen)
            while len(self._seen) > 2 and self._seen[1].now.at_s <= seen.now.at_s - _KEPT_S:
                self._seen.popleft()
            self._tell(_event("figures", json.dumps(figures(self._seen[0], seen, self._goals))))
        news, self._place = self._observer.news(self._place)
        self._tell(b"".join([_event("batch", one) for one in news if "\n" not in one]))  # a worker writes none

    def _tell(self, events: bytes) -> None:
        if not events:
            return
        with self._lock:
            for queue in [*self._viewers]:
                try:
                    queue.put_nowait(events)
                except Full:  # it does not read; its stream ends, and a browser comes again
                    del self._viewers[queue]


def _event(name: str, data: str) -> bytes:
    return f"event: {name}\ndata: {data}\n\n".encode()
