"""Container health of the monitor: `python -m ops.observe.monitor_health` exits 0 while its loop turns.

It is healthy while Redis is away, too: that is what it is there to tell, and a new start would forget what it has told.
"""

from __future__ import annotations

import sys
import time

from ops.observe.heartbeat_file import FRESH_S, is_fresh

if __name__ == "__main__":
    sys.exit(0 if is_fresh(time.time()) else f"no monitor has turned within {FRESH_S:g} s")
