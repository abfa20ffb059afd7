"""What several queues change in the application, apart from its corrector."""

from __future__ import annotations

from api.http.app import Api
from api.shards.mailbox import ShardedMailbox
from api.shards.watching import ShardWatch


def add_shards(app: Api) -> None:
    """Let the server look at all shards. After all that has something to report to them."""
    mailbox = app.mailbox
    assert isinstance(mailbox, ShardedMailbox)
    app.look = ShardWatch(mailbox, app.recorder.tallies.totals).status
