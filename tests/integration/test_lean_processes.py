"""What a process loads: a worker and the supervisor start often, and pay for each library that they do not need."""

from __future__ import annotations

import os
import subprocess
import sys
from urllib.parse import quote

import pytest
from redis import Redis

from ops.run.embedded_redis import EmbeddedRedis, free_port
from worker.queue.connection import Address, RedisConnection

_OF_OTHERS = {
    "asyncio", "email", "flask", "gevent", "gunicorn", "http.client", "opentelemetry", "prometheus_client", "psutil",
    "pydantic", "redis", "rich", "rq", "tokenizers", "tqdm", "urllib.request",
}  # fmt: skip
_RUN = """
import sys
from contextlib import suppress
from pkgutil import resolve_name
from ops.cli import main
for place in {places!r}:
    module, _, name = place.rpartition(":")
    *owners, name = name.split(".")
    setattr(resolve_name(":".join([module, *owners])), name, lambda *_: False)
with suppress(SystemExit):
    main({arguments!r}, standalone_mode=False)
print(*sys.modules)
"""


def loaded(places: list[str], *arguments: str) -> set[str]:
    """The modules of a process that has started, and does nothing in these places."""
    code = _RUN.format(places=places, arguments=list(arguments))
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=dict(os.environ))
    assert found.returncode == 0, found.stderr
    return set(found.stdout.split())


def test_a_worker_loads_numpy_and_nothing_that_only_others_use(redis_url: str) -> None:
    modules = loaded(["worker.actor:Actor.run"], "worker", "--redis-url", redis_url)

    assert "numpy" in modules
    assert modules & _OF_OTHERS == set()
    assert {name for name in modules if name.startswith(("api.grammar", "ops.run"))} <= {
        "api.grammar", "api.grammar.tokenizer_file", "ops.run", "ops.run.faults", "ops.run.logs",
    }  # fmt: skip


def test_the_supervisor_loads_nothing_that_only_its_children_use() -> None:
    places = ["ops.run.supervisor:Supervisor.start", "ops.run.up:_wait_until_ready"]

    modules = loaded(places, "up", "--port", str(free_port()))

    assert "ops.run.embedded_redis" in modules
    assert modules & (_OF_OTHERS | {"numpy", "hiredis", "api.grammar", "worker.engine"}) == set()


@pytest.mark.parametrize(
    "form",
    [
        "redis://{login}@{tcp}/3",
        "redis://{tcp}/?db=3&username={user}&password={word}",
        "unix://{login}@{socket}?db=3",
    ],
)
def test_a_line_finds_the_user_and_the_database_of_every_form_of_url(form: str, private_redis: EmbeddedRedis) -> None:
    user, word = "some one", "p%w:d@/"
    with Redis(port=private_redis.port) as client:
        client.acl_setuser(user.replace(" ", "-"), enabled=True, passwords=[f"+{word}"], commands=["+@all"], keys=["*"])
    names = {"user": user.replace(" ", "-"), "word": quote(word, safe="")}
    url = form.format(
        login="{user}:{word}".format(**names),
        tcp=f"127.0.0.1:{private_redis.port}",
        socket=private_redis.socket,
        **names,
    )

    connection = RedisConnection(Address(url))
    who, _ = connection.ask(("ACL", "WHOAMI"), ("SET", "found", "it"))
    connection.close()

    assert who.decode() == names["user"]
    with Redis(port=private_redis.port, db=3) as client:
        assert client.get("found") == b"it"
