"""The worker as an actor: private state, changed only by the messages of its mailbox.

Every iteration it takes all that waits and fits, steps the engine once, and sends what finished. Neither waits for
Redis: answers leave, and new requests come in, while the model computes. It blocks only when it has nothing to do. An
orderly stop finishes what is held within the grace period and hands the rest back to the queue; if the process dies
instead, its lease runs out and another worker takes over.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from threading import Timer
from time import monotonic, sleep

from scheduler.messages import NO_CAPACITY, Completion, FreeCapacity, Inbox, Progress
from worker.engine import Engine
from worker.queue.protocol import MailboxDown
from worker.queue.worker_end import WorkerMailbox
from worker.status import WorkerStatus

logger = logging.getLogger(__name__)

IDLE_WAIT_S = 0.5  # longest block on an empty queue; bounds how late a stop signal is noticed
RETRY_WAIT_S = 0.1  # between attempts to reach Redis while nothing can be computed
_LAST_LINE_S = 0.5
MAX_STALE_HEARTBEATS = 20  # five seconds more
FRESH_S = 2.0  # a loop without an iteration for so long hangs: the heartbeat stops and the lease runs out


class Actor:
    """Owns an engine and one end of the mailbox. `run` returns after `stop`."""

    def __init__(
        self,
        engine: Engine,
        mailbox: WorkerMailbox,
        grace_s: float,
        idle_wait_s: float = IDLE_WAIT_S,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._engine = engine
        self._policy = engine.policy
        self._status = WorkerStatus(engine, clock)
        self._mailbox = mailbox
        self._grace_s = grace_s
        self._idle_wait_s = idle_wait_s
        self._clock = clock
        self._completions: list[Completion] = []  # to be sent
        self._progress: list[Progress] = []  # may be lost: the next one holds it, too
        self._last_iteration_s = clock()
        self._is_stopping = False
        self._is_cut_off = False
        self._num_stale_beats = 0

    def run(self) -> None:
        """Serve until `stop` is called, then finish or hand back what is held."""
        self.open()
        while not self._is_stopping:
            self.iterate(self._policy.free_capacity)
        self._shut_down()

    def stop(self) -> None:
        """Safe in a signal handler: only sets a flag that the loop reads."""
        self._is_stopping = True

    def open(self) -> None:
        """Register; wait for Redis if it is not there yet."""
        while not self._is_stopping:
            try:
                self._mailbox.open(self.is_fresh, self._status.report)
                return logger.info("worker ready", extra={"kv_tokens": self._policy.limits.kv_budget_tokens})
            except MailboxDown as error:
                self._note_down(error)

    def iterate(self, capacity: FreeCapacity) -> None:
        """One iteration: exchange with the mailbox, take in, compute."""
        self._last_iteration_s = self._clock()
        self._take_in(self._exchange(capacity, self._idle_s()))
        if self._engine.due_in_s() == 0.0:
            self._step()
            self._progress = self._engine.progress()

    def _idle_s(self) -> float:
        """Return how long the exchange may block: not while there is something to compute."""
        due_in_s = self._engine.due_in_s()
        if self._is_stopping or due_in_s == 0.0:
            return 0.0
        return self._idle_wait_s if due_in_s is None else min(self._idle_wait_s, due_in_s)

    def _exchange(self, capacity: FreeCapacity, wait_s: float) -> Inbox:
        """Send what finished, receive what waits. While Redis is away the engine goes on with what it holds."""
        progress, self._progress = self._progress, []
        completions, self._completions = self._completions, []  # the mailbox keeps them, also while Redis is away
        try:
            inbox = self._mailbox.exchange(completions, capacity, wait_s, progress)
        except MailboxDown as error:
            self._note_down(error)
            return Inbox()
        if self._is_cut_off:
            self._is_cut_off = False
            logger.warning("the queue is reachable again")  # as loud as what it ends: `up` shows no INFO
        return inbox

    def _note_down(self, error: MailboxDown) -> None:
        if not self._is_cut_off:  # one line for each interruption, not one for each iteration
            self._is_cut_off = True
            logger.warning(
                "the queue is unreachable, will retry (see the Redis of --redis-url)", extra={"reason": str(error)}
            )
        due_in_s = self._engine.due_in_s()
        sleep(RETRY_WAIT_S if due_in_s is None else min(RETRY_WAIT_S, due_in_s))

    def _take_in(self, inbox: Inbox) -> None:
        for delivery in inbox.deliveries:
            refusal = self._engine.accept(delivery)
            if refusal is not None:
                logger.error("request refused", extra={"request_id": refusal.request_id, "reason": refusal.error})
                self._completions.append(refusal)
        for request_id in inbox.cancelled_ids:
            cancelled = self._engine.cancel(request_id)
            if cancelled is not None:
                self._completions.append(cancelled)
        if inbox.deferred_id:
            self._engine.observations.note_deferred(inbox.deferred_id)

    def _step(self) -> None:
        try:
            self._completions += self._engine.step()
        except Exception:
            held = self._policy.held_ids()
            logger.exception("iteration failed; what was held is tried again, in groups", extra={"request_ids": held})
            self._engine.drop_all()
            completions, self._completions = self._completions, []
            try:  # as if the process had died: one that cannot be computed must not harm the others
                self._mailbox.give_back(completions)
            except MailboxDown as error:
                self._note_down(error)

    def _shut_down(self) -> None:
        """Take nothing new; finish what is held while the grace lasts; hand back the rest; leave."""
        logger.info("worker stopping", extra={"num_held": len(self._policy.held_ids())})
        self._policy.stop_waiting()
        deadline_s = self._clock() + self._grace_s
        # Nothing due means that nothing held can still be computed: others may do better.
        while (self._engine.due_in_s() is not None or self._completions) and self._clock() < deadline_s:
            self.iterate(NO_CAPACITY)
        if self._completions or self._progress:  # what has an answer, or was read, need not be computed again
            self._exchange(NO_CAPACITY, 0.0)
        left = self._policy.held_ids()
        self._mailbox.close()  # what is still held goes back to the front of the queue
        logger.info("worker stopped", extra={"num_handed_back": len(left), **self._engine.observations.summary()})

    def is_fresh(self) -> bool:
        """Whether the loop still iterates; the heartbeat's thread asks at every beat.

        A loop that hangs does not recover. Beats are counted and not seconds: a process that was stopped and goes on
        has missed them all.
        """
        is_fresh = self._clock() - self._last_iteration_s < FRESH_S
        self._num_stale_beats = 0 if is_fresh else self._num_stale_beats + 1
        if self._num_stale_beats == MAX_STALE_HEARTBEATS:
            Timer(_LAST_LINE_S, os._exit, (os.EX_SOFTWARE,)).start()  # the loop may hang in the log itself
            logger.critical("the loop hangs; this process ends, and its successor takes over when the lease runs out")
            logging.shutdown()
            os._exit(os.EX_SOFTWARE)
        return is_fresh
