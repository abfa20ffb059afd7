"""A wrong or a missing password is named as such, to operators and to clients, and never shown."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests import guarded_redis
from tests.guarded_redis import GuardedRedis
from tests.mailbox_house import eventually
from tests.running_system import ApiProcess, post_sentence, send


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GuardedRedis]:
    server = guarded_redis.start(tmp_path_factory.mktemp("guarded"))
    yield server
    server.stop()


def test_an_api_that_redis_refuses_names_the_password_in_its_log_and_its_answers(server: GuardedRedis) -> None:
    with ApiProcess(server.url("api").replace("-secret", "-guessed")) as api:
        line = api.wait_for_line(r"^.*warning.*$", 15).group()
        eventually(lambda: "just started" not in send(api.url, "GET", "/readyz").body["detail"])
        probe, posted = send(api.url, "GET", "/readyz"), post_sentence(api.url, "He goed.")

    if "does not answer" in line:  # a machine so busy that Redis had no time to say why
        line = posted.body["detail"]
    for text in (line, probe.body["detail"], posted.body["detail"]):
        assert "authentication refused" in text and "password" in text
        assert "does not answer" not in text and "try again" not in text and "guessed" not in text
    assert probe.status == posted.status == 503
