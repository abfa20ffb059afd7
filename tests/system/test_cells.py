"""Two whole deployments behind nginx with the configuration of docs/proxies.md."""

from __future__ import annotations

import http.client
import json
from contextlib import ExitStack

from tests.pace import patient
from tests.proxies import Proxy, before_cells
from tests.running_system import RunningSystem, all_at_once, status_of

ADDRESSES = [f"127.0.0.{number}" for number in range(2, 42)]  # of clients
BODY = json.dumps({"sentence": "He goed home."})


def _ask(proxy: Proxy, address: str, method: str, path: str, **headers: str) -> tuple[int, str]:
    """Status and request id that a client of this address gets."""
    port, source = proxy.port, (address, 0)
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=patient(60), source_address=source)
    try:
        connection.request(method, path, BODY if method == "POST" else None, headers)
        response = connection.getresponse()
        return response.status, json.loads(response.read()).get("request_id", "")
    finally:
        connection.close()


def _post(proxy: Proxy, address: str, **headers: str) -> str:
    """The id of the answer. The same in the same cell: the key is the client's own."""
    own = {"Content-Type": "application/json", "Idempotency-Key": address}
    status, request_id = _ask(proxy, address, "POST", "/correct", **own, **headers)
    assert status == 200
    return request_id


def test_a_client_stays_in_its_cell_and_a_dead_cell_moves_only_its_own_clients() -> None:
    with ExitStack() as stack:
        cells = stack.enter_context(all_at_once(RunningSystem(), RunningSystem()))
        proxy = stack.enter_context(Proxy("nginx", before_cells([cell.port for cell in cells])))

        before = {address: _post(proxy, address) for address in ADDRESSES}
        found = {
            address: [status_of(cell.url, f"/requests/{request_id}") for cell in cells]
            for address, request_id in before.items()
        }
        of_second = {address for address, statuses in found.items() if statuses == [404, 200]}

        assert all(sorted(statuses) == [200, 404] for statuses in found.values())
        assert 0 < len(of_second) < len(ADDRESSES)
        for address, request_id in before.items():
            assert _post(proxy, address) == request_id
            assert _ask(proxy, address, "GET", f"/requests/{request_id}") == (200, request_id)
        with_key = {_post(proxy, address, Authorization="Bearer ms_one") for address in ADDRESSES}
        assert len(with_key) == len(ADDRESSES)
        places = {tuple(status_of(cell.url, f"/requests/{one}") for cell in cells) for one in with_key}
        assert len(places) == 1, "a client with a key goes by its key"

        cells[1].process.terminate()
        cells[1].process.wait(patient(30))

        moved = {address for address, request_id in before.items() if _post(proxy, address) != request_id}
        assert moved == of_second
