"""The worker as an actor: private state, changed only by the messages of its mailbox.

Every iteration it drains all that waits and fits, steps the engine once, and sends what finished with the next
exchange. It blocks only when it has nothing to do. An orderly stop finishes what is held within the grace period and
hands the rest back to the queue; if the process dies instead, its lease runs out and another worker takes over.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from threading import Thread
from time import monotonic, sleep

import structlog

from scheduler.messages import NO_ROOM, Completion, Inbox, Progress, Room
from worker.engine import Engine
from worker.mailbox.protocol import MailboxDown, WorkerMailbox
from worker.vitals import Vitals

logger = structlog.get_logger(__name__)

IDLE_WAIT_S = 0.5  # longest block on an empty queue; bounds how late a stop signal is noticed
LATE_S = 0.2  # Redis may end a blocked wait 0.1 s late: nearer to the time of an iteration the loop looks by itself
LOOK_EVERY_S = 0.001
RETRY_WAIT_S = 0.1  # between attempts to reach Redis while nothing can be computed
_LAST_WORDS_S = 0.5
HUNG_BEATS = 20  # five seconds more
FRESH_S = 2.0  # a loop that has not turned for so long is hung: the heartbeat stops and the lease runs out


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
        self._vitals = Vitals(engine.policy, clock)
        self._mailbox = mailbox
        self._grace_s = grace_s
        self._idle_wait_s = idle_wait_s
        self._clock = clock
        self._outbox: list[Completion] = []
        self._progress: list[Progress] = []  # may be lost: the next one holds it, too
        self._last_turn_s = clock()
        self._is_stopping = False
        self._is_cut_off = False
        self._num_stale_beats = 0

    def run(self) -> None:
        """Serve until told to stop, then finish or hand back what is held."""
        self._open()
        logger.info("worker ready", kv_tokens=self._policy.limits.kv_budget_tokens)
        while not self._is_stopping:
            self._turn(self._policy.room)
        self._shut_down()

    def stop(self) -> None:
        """Safe in a signal handler: only sets a flag that the loop reads."""
        self._is_stopping = True

    def _open(self) -> None:
        """Register; wait for Redis if it is not there yet."""
        while not self._is_stopping:
            try:
                return self._mailbox.open(self._is_fresh, self._vitals.report)
            except MailboxDown as error:
                self._note_down(error)

    def _turn(self, room: Room) -> None:
        """One iteration: exchange with the mailbox, take in, compute."""
        self._last_turn_s = self._clock()
        inbox = self._exchange(room, self._rest_s())
        self._take_in(inbox)
        if self._engine.due_in_s() == 0.0:
            self._step()
            self._progress = self._policy.progress()

    def _rest_s(self) -> float:
        """For how long the exchange may block: not while there is something to say or to compute.

        Where an iteration is due soon it rests right here, a little, so that the exchange need not be punctual.
        """
        due_in_s = self._engine.due_in_s()
        if self._outbox or self._is_stopping or due_in_s == 0.0:
            return 0.0
        if due_in_s is None:
            return self._idle_wait_s
        if due_in_s > LATE_S:
            return min(self._idle_wait_s, due_in_s - LATE_S)
        sleep(min(due_in_s, LOOK_EVERY_S))
        return 0.0

    def _exchange(self, room: Room, wait_s: float) -> Inbox:
        """Publish what finished, receive what waits. While Redis is away the engine goes on with what it holds."""
        progress, self._progress = self._progress, []
        answers, self._outbox = self._outbox, []  # from here on the mailbox keeps them, whatever happens to Redis
        try:
            num_held = self._policy.num_running + self._policy.num_waiting
            inbox = self._mailbox.exchange(answers, room, num_held, wait_s, progress)
        except MailboxDown as error:
            self._note_down(error)
            return Inbox()
        if self._engine.tracer is not None:
            self._engine.tracer.note_published(self._clock())
        if self._is_cut_off:
            self._is_cut_off = False
            logger.info("the queue is reachable again")
        return inbox

    def _note_down(self, error: MailboxDown) -> None:
        if not self._is_cut_off:  # one line for each interruption, not one for each iteration
            self._is_cut_off = True
            logger.warning("the queue is unreachable, will retry (is the Redis of --redis-url up?)", reason=str(error))
        due_in_s = self._engine.due_in_s()
        sleep(RETRY_WAIT_S if due_in_s is None else min(RETRY_WAIT_S, due_in_s))

    def _take_in(self, inbox: Inbox) -> None:
        for delivery in inbox.deliveries:
            refusal = self._engine.accept(delivery)
            if refusal is not None:
                logger.error("request refused", request_id=refusal.request_id, reason=refusal.error)
                self._outbox.append(refusal)
        for request_id in inbox.cancelled_ids:
            cancelled = self._engine.cancel(request_id)
            if cancelled is not None:
                self._outbox.append(cancelled)

    def _step(self) -> None:
        try:
            self._outbox += self._engine.step()
        except Exception:
            held = self._policy.held_ids()
            logger.exception("iteration failed; what was held is tried again, each by itself", request_ids=held)
            self._engine.drop_all()
            self._give_back()

    def _give_back(self) -> None:
        """As if the process had died: one request that the engine cannot compute must not take the others along."""
        answers, self._outbox = self._outbox, []
        try:
            self._mailbox.give_back(answers)
        except MailboxDown as error:
            self._note_down(error)

    def _shut_down(self) -> None:
        """Take nothing new; finish what is held while the grace lasts; hand back the rest; leave."""
        logger.info("worker stopping", num_held=len(self._policy.held_ids()))
        self._policy.stop_waiting()
        deadline_s = self._clock() + self._grace_s
        # Nothing due means that nothing held can still be computed: others may do better.
        while (self._engine.due_in_s() is not None or self._outbox) and self._clock() < deadline_s:
            self._turn(NO_ROOM)
        left = self._policy.held_ids()
        self._mailbox.close()  # whatever is still held goes back to the front of the queue
        logger.info("worker stopped", num_handed_back=len(left), **self._policy.counters.summary())

    def _is_fresh(self) -> bool:
        """Asked by the heartbeat's thread at every beat: does the loop still turn?

        One that hangs will not mend itself. Beats are counted and not seconds: a process that was stopped and goes on
        has missed them all.
        """
        is_fresh = self._clock() - self._last_turn_s < FRESH_S
        self._num_stale_beats = 0 if is_fresh else self._num_stale_beats + 1
        if self._num_stale_beats == HUNG_BEATS:
            _say_so_and_end()
        return is_fresh


def _say_so_and_end() -> None:
    """The loop may hang in the log itself: a line that cannot be written must not keep the process."""
    told = "the loop hangs; this process ends, its successor and the lease do the rest"
    speaker = Thread(target=logger.critical, args=(told,), daemon=True)
    speaker.start()
    speaker.join(_LAST_WORDS_S)
    os._exit(os.EX_SOFTWARE)
