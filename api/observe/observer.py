"""Finds what an API process observes: the queue in Redis, or the engines inside the process."""

from __future__ import annotations

import json
from typing import cast

from scheduler.accounts import Account
from worker.mailbox.observing import Found, Observer
from worker.mailbox.protocol import ApiMailbox


def observer_of(mailbox: ApiMailbox) -> Observer:
    """The mailbox itself in the modes without a queue."""
    if mailbox.ask is None:
        return cast(Observer, mailbox)
    from worker.mailbox.redis_observer import RedisObserver  # the modes without a queue load no redis

    return RedisObserver(mailbox.ask)


def find_own(observer: Observer, request_id: str, account: Account | None) -> Found | None:
    """A request of this account; None for another's, as for one that is not known. Raises NotReady.

    Where no keys are asked for, every request belongs to whoever knows its id.
    """
    found = observer.find(request_id)
    is_own = found is None or account is None or _owner_of(found.document) == account.name
    return found if is_own else None


def _owner_of(document: str) -> object:
    """The name of the account that `submission_of` has kept; None where nobody's key was asked for."""
    try:
        return json.loads(document).get("account")
    except (ValueError, AttributeError):  # no document of ours
        return None
