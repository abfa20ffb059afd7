"""A wrong or a missing password is named as such, to operators and to clients, and never shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from tests import guarded_redis
from tests.guarded_redis import GuardedRedis
from tests.mailbox_house import eventually
from tests.running_system import ApiProcess, post_sentence, send
from worker.queue.connection import Address
from worker.queue.protocol import MailboxDown
from worker.queue.worker_end import WorkerMailbox


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedRedis]:
    server = guarded_redis.start(tmp_path_factory.mktemp("guarded"))
    yield server
    server.stop()


def without_its_login(server: GuardedRedis, user: str) -> str:
    return server.url(user).replace(f"{user}:{user}-secret@", "")


def with_a_wrong_password(server: GuardedRedis, user: str) -> str:
    return server.url(user).replace("-secret", "-guessed")


@pytest.mark.parametrize("mistaken", [with_a_wrong_password, without_its_login])
def test_a_worker_that_redis_refuses_says_that_its_password_is_the_reason(
    server: GuardedRedis, mistaken: Callable[[GuardedRedis, str], str]
) -> None:
    mailbox = WorkerMailbox(Address(mistaken(server, "worker")))

    with pytest.raises(MailboxDown) as refusal:
        mailbox.open(lambda: True)

    assert "authentication refused" in str(refusal.value) and "password" in str(refusal.value)
    assert "guessed" not in str(refusal.value)


def test_an_api_that_redis_refuses_names_the_password_in_its_log_and_its_answers(server: GuardedRedis) -> None:
    with ApiProcess(with_a_wrong_password(server, "api")) as api:
        line = api.wait_for_line(r"^.*warning.*$", 15).group()
        eventually(lambda: "just started" not in send(api.url, "GET", "/readyz").body["detail"])
        probe, posted = send(api.url, "GET", "/readyz"), post_sentence(api.url, "He goed.")

    if "does not answer" in line:  # a machine so busy that Redis had no time to say why
        line = posted.body["detail"]
    for text in (line, probe.body["detail"], posted.body["detail"]):
        assert "authentication refused" in text and "password" in text
        assert "does not answer" not in text and "try again" not in text and "guessed" not in text
    assert probe.status == posted.status == 503
