"""Posting alerts: never in the way, again where it may help, and not a word of the secret."""

from __future__ import annotations

import pytest

from ops.observe.webhook import Webhook
from tests.running_system import wait_until
from tests.webhook_receiver import WebhookReceiver


def alerts_of(receiver: WebhookReceiver) -> list[str]:
    return [payload["alert"] for payload in receiver.payloads]


@pytest.mark.parametrize("status", [500, 429, 408])
def test_what_may_go_better_later_is_tried_again(status: int, caplog: pytest.LogCaptureFixture) -> None:
    with WebhookReceiver(status, status, 200) as receiver:
        webhook = Webhook(receiver.url, pauses_s=(0.01, 0.01))
        webhook.post({"alert": "a"})
        wait_until(lambda: len(receiver.payloads) == 3, 10, "three attempts")
        webhook.close(10)

    assert alerts_of(receiver) == ["a", "a", "a"]
    assert caplog.records == []


@pytest.mark.parametrize(("status", "pauses_s"), [(400, (30,)), (404, (30,)), (302, ())])
def test_what_is_refused_for_good_is_given_up_at_once_and_the_next_goes_out(
    status: int, pauses_s: tuple[int, ...], caplog: pytest.LogCaptureFixture
) -> None:
    """A redirection is a failure and is not followed."""
    with WebhookReceiver(status, 200) as receiver:
        webhook = Webhook(receiver.url, pauses_s)
        webhook.post({"alert": "a"})
        webhook.post({"alert": "b"})
        webhook.close(10)

    assert alerts_of(receiver) == ["a", "b"] and set(receiver.content_types) == {"application/json"}
    assert [(line.levelname, line.alert, line.reason) for line in caplog.records] == [
        ("ERROR", "a", f"it answers {status}")
    ]


def test_posting_never_waits_for_a_receiver_that_hangs_and_keeps_the_newest(caplog: pytest.LogCaptureFixture) -> None:
    with WebhookReceiver(0, 200) as receiver:
        webhook = Webhook(receiver.url, pauses_s=(0.01,), most_waiting=3)
        webhook.post({"alert": "first"})
        wait_until(lambda: len(receiver.payloads) == 1, 10, "the first is under way")

        for name in "abcde":
            webhook.post({"alert": name})
        receiver.hang_up()
        wait_until(lambda: len(receiver.payloads) == 5, 10, "the rest")
        webhook.close(10)

    assert alerts_of(receiver) == ["first", "first", "c", "d", "e"]
    assert [line.alert for line in caplog.records] == ["a", "b"]


def test_closing_does_not_wait_for_a_pause_between_attempts(caplog: pytest.LogCaptureFixture) -> None:
    with WebhookReceiver(500) as receiver:
        webhook = Webhook(receiver.url, pauses_s=(3600, 3600))
        webhook.post({"alert": "a"})
        wait_until(lambda: len(receiver.payloads) == 1, 10, "the first attempt")
        webhook.close(10)

    assert (len(receiver.payloads), caplog.records[0].reason) == (1, "it answers 500")


def test_the_log_never_shows_more_of_the_url_than_where_it_leads(caplog: pytest.LogCaptureFixture) -> None:
    with WebhookReceiver(500) as receiver:
        away = receiver.url.replace("127.0.0.1", "127.0.0.1.invalid")
        for url in (receiver.url, away, "http://127.0.0.1:1/S3CRET", f"http://{'x' * 70}/S3CRET"):
            webhook = Webhook(url, pauses_s=())
            webhook.post({"alert": "a"})
            webhook.close(10)

    assert len(caplog.records) == 4
    assert "S3CRET" not in str([vars(line) for line in caplog.records])
    assert all(line.webhook.endswith("/***") for line in caplog.records)
