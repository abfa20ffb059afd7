"""nginx with the balancer's own configuration, before replicas of a few lines: who is asked again, and who is not."""

from __future__ import annotations

import json
import re
import socket
import subprocess
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path

import pytest

from ops.run.embedded_redis import free_port
from tests import system_tools
from tests.fake_mailbox import site_of
from tests.running_system import Reply, send, wait_until
from tests.small_server import FULL, OK, SmallServer, StartServer, http, small_servers

CONFIGURATION = (Path(__file__).resolve().parents[2] / "ops" / "deploy" / "compose" / "nginx.conf").read_text(
    encoding="utf-8"
)
STOPPING = {"type": "urn:miniserve:problem:shutting-down"}
PROBLEM = "Content-Type: application/problem+json"
KEY = {"Idempotency-Key": "7f1c0b1e"}


class Balancer:
    """nginx in a folder of its own, with these replicas, in the order in which it asks them."""

    def __init__(self, folder: Path, ports: list[str]) -> None:
        self.folder, self.url = folder, f"http://127.0.0.1:{free_port()}"
        for name, more in (("replicas", "max_fails=1 fail_timeout=1s"), ("all_replicas", "max_fails=0")):
            (folder / f"{name}.conf").write_text("".join(f"server 127.0.0.1:{port} {more};\n" for port in ports))
        (folder / "patience.conf").write_text("proxy_read_timeout 2s;\n")
        text = CONFIGURATION.replace("/tmp/", f"{folder}/").replace("/dev/stdout", f"{folder}/access.log")
        (folder / "nginx.conf").write_text(text.replace("listen 8080", f"listen {self.url.removeprefix('http://')}"))
        nginx = system_tools.find("nginx")
        self.command = [nginx, "-c", str(folder / "nginx.conf"), "-e", "stderr", "-g", "daemon off;"]
        self._process: subprocess.Popen[bytes] | None = None

    def __enter__(self) -> Balancer:
        self._process = subprocess.Popen(self.command, stderr=(self.folder / "error.log").open("wb"))
        wait_until(self._answers, 10, "the balancer answers")
        (self.folder / "access.log").write_bytes(b"")
        return self

    def __exit__(self, *_: object) -> None:
        self._process.terminate()
        self._process.wait(10)

    def _answers(self) -> bool:
        with socket.socket() as probe:
            return probe.connect_ex(("127.0.0.1", int(self.url.rsplit(":", 1)[1]))) == 0

    def log(self) -> list[dict[str, object]]:
        return [json.loads(line) for line in (self.folder / "access.log").read_text().splitlines()]


@pytest.fixture
def start() -> Iterator[StartServer]:
    with small_servers() as start:
        yield start


@pytest.fixture
def refusing() -> Iterator[str]:
    """A port that is bound and not listened on: nobody else gets it."""
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        yield str(closed.getsockname()[1])


def _port(server: SmallServer) -> str:
    return server.url.rsplit(":", 1)[1]


def _post(balancer: Balancer, **headers: str) -> Reply:
    return send(balancer.url, "POST", "/correct", json.dumps({"sentence": "He goed"}).encode(), headers)


def _four(balancer: Balancer, headers: dict[str, str], method: str = "POST") -> list[int]:
    """The statuses of four requests, one after the other: the first two go to one replica each."""
    path = "/correct" if method == "POST" else "/requests/5f3b0f3f"
    return [send(balancer.url, method, path, b"{}" if method == "POST" else None, headers).status for _ in range(4)]


def test_nginx_takes_the_configuration_without_a_warning(tmp_path: Path) -> None:
    checked = subprocess.run([*Balancer(tmp_path, ["1"]).command, "-t"], capture_output=True, text=True)

    assert checked.returncode == 0, checked.stderr
    assert "warn" not in checked.stderr


@pytest.mark.parametrize("headers", [{}, KEY], ids=["without a key", "with a key"])
def test_a_replica_that_refuses_the_connection_costs_nobody_an_answer(
    tmp_path: Path, start: StartServer, refusing: str, headers: dict[str, str]
) -> None:
    good = start(lambda _: http(200, OK))

    with Balancer(tmp_path, [refusing, _port(good)]) as balancer:
        assert _four(balancer, headers) == [200] * 4

    assert good.num_requests == 4


@pytest.mark.parametrize("headers", [{}, KEY], ids=["without a key", "with a key"])
def test_what_a_stopping_replica_refuses_another_one_answers(
    tmp_path: Path, start: StartServer, headers: dict[str, str]
) -> None:
    stopping, good = start(lambda _: http(503, STOPPING, "Retry-After: 1")), start(lambda _: http(200, OK))

    with Balancer(tmp_path, [_port(stopping), _port(good)]) as balancer:
        assert _four(balancer, headers) == [200] * 4

    assert stopping.num_requests >= 1 and good.num_requests == 4


def test_a_post_without_a_key_that_breaks_off_is_not_sent_again(tmp_path: Path, start: StartServer) -> None:
    breaking, good = start(lambda _: None), start(lambda _: http(200, OK))

    with Balancer(tmp_path, [_port(breaking), _port(good)]) as balancer:
        replies = [_post(balancer, **{"X-Request-ID": "mine"}) for _ in range(4)]

    lost = [reply for reply in replies if reply.status != 200]
    assert len(lost) == breaking.num_requests >= 1
    assert len(lost) + good.num_requests == 4
    assert {(one.status, one.slug, one.headers["Retry-After"]) for one in lost} == {(503, "not-ready", "1")}
    assert all(one.headers["Content-Type"] == "application/problem+json" for one in lost)
    assert all(one.headers["X-Request-ID"] == "mine" for one in lost)


@pytest.mark.parametrize("method", ["POST", "GET", "DELETE"])
def test_what_may_run_twice_is_sent_again_when_it_breaks_off(tmp_path: Path, start: StartServer, method: str) -> None:
    breaking, good = start(lambda _: None), start(lambda _: http(200, OK))

    with Balancer(tmp_path, [_port(breaking), _port(good)]) as balancer:
        assert _four(balancer, KEY if method == "POST" else {}, method) == [200] * 4

    assert breaking.num_requests >= 1 and good.num_requests == 4


def test_a_post_without_a_key_that_gets_no_answer_is_not_sent_again(tmp_path: Path, start: StartServer) -> None:
    silent, good = start(lambda _: http(200, OK), delay_s=3.0), start(lambda _: http(200, OK))  # 2 s is the patience

    with Balancer(tmp_path, [_port(silent), _port(good)]) as balancer:
        assert [_post(balancer).status for _ in range(2)] == [503, 200]

    assert silent.num_requests == good.num_requests == 1


@pytest.mark.parametrize("headers", [{}, KEY], ids=["without a key", "with a key"])
def test_a_full_queue_is_told_in_the_words_of_the_replica(
    tmp_path: Path, start: StartServer, headers: dict[str, str]
) -> None:
    full = [start(lambda _: http(503, FULL, "Retry-After: 7", PROBLEM)) for _ in range(3)]

    with Balancer(tmp_path, [_port(one) for one in full]) as balancer:
        replies = [_post(balancer, **headers) for _ in range(6)]

    assert [(reply.status, reply.slug, reply.headers["Retry-After"]) for reply in replies] == [
        (503, "queue-full", "7")
    ] * 6
    assert sum(one.num_requests for one in full) <= 12  # one more is asked at most, not all


@pytest.mark.parametrize(
    ("status", "slug"), [(502, "request-failed"), (504, "deadline-exceeded"), (413, "body-too-large")]
)
@pytest.mark.parametrize("headers", [{}, KEY], ids=["without a key", "with a key"])
def test_problems_of_a_replica_pass_as_they_are(
    tmp_path: Path, start: StartServer, status: int, slug: str, headers: dict[str, str]
) -> None:
    problem = {"type": f"urn:miniserve:problem:{slug}", "request_id": "r1"}
    replica = start(lambda _: http(status, problem, PROBLEM, "X-Request-ID: r1"))

    with Balancer(tmp_path, [_port(replica)]) as balancer:
        reply = _post(balancer, **headers)

    assert (reply.status, reply.body, replica.num_requests) == (status, problem, 1)


@pytest.mark.parametrize("headers", [{}, KEY], ids=["without a key", "with a key"])
def test_without_any_replica_clients_are_told_when_to_come_again(
    tmp_path: Path, refusing: str, headers: dict[str, str]
) -> None:
    with Balancer(tmp_path, [refusing]) as balancer:
        reply = _post(balancer, **headers)

    assert (reply.status, reply.slug, reply.headers["Retry-After"]) == (503, "not-ready", "2")
    assert len(reply.headers["X-Request-ID"]) == 32


def test_the_correlation_id_passes_both_ways_and_is_not_doubled(tmp_path: Path, start: StartServer) -> None:
    replica = start(lambda _: http(200, OK, "X-Request-ID: from-the-replica"))

    with Balancer(tmp_path, [_port(replica)]) as balancer:
        reply = _post(balancer, **{"X-Request-ID": "from the client"})

    assert b"\r\nX-Request-ID: from the client\r\n" in replica.received[0]
    assert reply.headers["X-Request-ID"] == "from-the-replica"


def test_the_replica_with_the_fewest_open_requests_is_asked(tmp_path: Path, start: StartServer) -> None:
    slow, fast = start(lambda _: http(200, OK), delay_s=1.5), start(lambda _: http(200, OK))

    with Balancer(tmp_path, [_port(slow), _port(fast)]) as balancer, ThreadPoolExecutor(1) as pool:
        held = pool.submit(_post, balancer)
        wait_until(lambda: slow.num_requests == 1, 5, "the slow one has a request")
        assert [_post(balancer).status for _ in range(5)] == [200] * 5
        assert fast.num_requests == 5
        assert held.result().status == 200


def test_events_of_a_stream_come_through_one_by_one(tmp_path: Path) -> None:
    has_read = threading.Event()
    listener = socket.create_server(("127.0.0.1", 0))

    def stream() -> None:
        connection, _ = listener.accept()
        connection.recv(65536)
        head = (
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nX-Accel-Buffering: no\r\nConnection: close\r\n\r\n"
        )
        connection.sendall(head.encode() + b"event: edit\n\n")
        assert has_read.wait(10), "the first event was kept back"
        connection.sendall(b"event: done\n\n")
        connection.close()

    thread = threading.Thread(target=stream, daemon=True)
    thread.start()
    with Balancer(tmp_path, [str(listener.getsockname()[1])]) as balancer:
        connection = HTTPConnection(balancer.url.removeprefix("http://"), timeout=10)
        connection.request("POST", "/correct", b"{}", {"Accept": "text/event-stream"})
        response = connection.getresponse()
        first = response.read1()
        has_read.set()
        assert (first, response.read()) == (b"event: edit\n\n", b"event: done\n\n")
    listener.close()


def test_the_log_tells_the_replica_and_neither_text_nor_id(tmp_path: Path, start: StartServer) -> None:
    replica = start(lambda _: http(200, OK, "X-Request-ID: r1"))

    with Balancer(tmp_path, [_port(replica)]) as balancer:
        _post(balancer, **KEY)
        for path in ("/requests/5f3b0f3f", "/He%20goed", "/correct?sentence=He", "/learners/5f3b0f3f"):
            send(balancer.url, "GET", path)
        wait_until(lambda: len(balancer.log()) == 5, 5, "all are logged")  # each after its answer is out
        lines = balancer.log()

    assert [line["path"] for line in lines] == ["/correct", "/requests/<id>", "other", "/correct", "/learners/<id>"]
    assert {line["replica"] for line in lines} == {f"127.0.0.1:{_port(replica)}"}
    assert {line["request_id"] for line in lines} == {"r1"}
    assert not any(word in str(lines) for word in ("He", "5f3b", KEY["Idempotency-Key"]))


def test_the_log_names_every_route(tmp_path: Path, start: StartServer) -> None:
    replica = start(lambda _: http(200, OK))
    rules = {rule.rule for rule in site_of().url_map.iter_rules()}
    routes = {re.sub(r"<.*?>", "x", rule) for rule in rules if not rule.endswith("/trace")}

    with Balancer(tmp_path, [_port(replica)]) as balancer:
        for path in sorted(routes):
            send(balancer.url, "GET", path)
        wait_until(lambda: len(balancer.log()) == len(routes), 5, "all are logged")

        assert [line for line in balancer.log() if line["path"] == "other"] == []


def test_no_log_has_the_text_that_a_query_holds(tmp_path: Path, start: StartServer, refusing: str) -> None:
    good = start(lambda _: http(200, OK))

    with Balancer(tmp_path, [refusing, _port(good)]) as balancer:
        statuses = [send(balancer.url, "GET", "/v2/check?language=en&text=secret").status for _ in range(4)]
        statuses.append(send(balancer.url, "GET", "/v2/check?text=secret" + "x" * 9_000).status)

    assert statuses == [200] * 4 + [414]
    assert {line["path"] for line in balancer.log()} == {"/v2/check", "other"}
    assert "secret" not in (tmp_path / "access.log").read_text() + (tmp_path / "error.log").read_text()
