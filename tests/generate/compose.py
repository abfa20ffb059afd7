"""The settings that docker-compose.yml passes on to its processes, between `# generated` and `# /generated`."""

from __future__ import annotations

import re
from pathlib import Path

from ops.options import PROCESS_SETTINGS
from scheduler.settings import variable

NAME = "docker-compose.yml"
# Compose gives these values of its own, or passes them to one service.
_OF_COMPOSE = {
    "redis_url", "redis_memory_mb", "host", "port", "api_processes", "grace_s", "model_threads", "log_format",
    "trusted_proxies", "api_keys_file", "alert_webhook",
}  # fmt: skip


def files(root: Path) -> dict[str, str]:
    text = (root / NAME).read_text(encoding="utf-8")
    names = dict.fromkeys(name for process in ("api", "worker", "monitor") for name in PROCESS_SETTINGS[process])
    lines = "".join(f"  {variable(name)}:\n" for name in names if name not in _OF_COMPOSE)
    return {NAME: re.sub(r"(  # generated.*\n)(?s:.*?)(?=  # /generated)", rf"\1{lines}", text)}
