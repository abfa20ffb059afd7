"""`make audit`: what pip-audit knows of the installed packages, and whether it could know anything.

Where pip-audit reaches no advisory database it reports every package as not found and ends with success. Here that is a
result of its own: exit status 0 audited and clean, 1 known vulnerabilities, 2 not audited.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence

CLEAN, VULNERABLE, NOT_AUDITED = range(3)
_OURS = "miniserve"
_PATIENCE_S = 300


def audit(command: Sequence[str]) -> tuple[int, str]:
    """Run it; the exit status, and what to say."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE_S)
        packages = [one for one in json.loads(done.stdout)["dependencies"] if one["name"] != _OURS]
    except (OSError, subprocess.TimeoutExpired, ValueError, LookupError, TypeError) as error:
        reason = str(error) if isinstance(error, OSError) else "it cannot be run, or reaches no advisory database"
        return NOT_AUDITED, f"NOT AUDITED: pip-audit gave no result ({reason})"
    audited = [one for one in packages if "skip_reason" not in one]
    skipped = [one["name"] for one in packages if "skip_reason" in one]
    found = [f"{one['name']} {one['version']}: {_ids(one)}" for one in audited if one["vulns"]]
    if found:
        return VULNERABLE, "\n".join(["known vulnerabilities:", *found])
    if not audited or len(skipped) > len(audited):
        missing = f"{len(skipped)} of {len(packages)} packages were not found in it"
        remedy = "run `make audit` where pypi.org can be reached"
        return NOT_AUDITED, f"NOT AUDITED: the advisory database cannot be reached from here ({missing}): {remedy}"
    rest = f"; not in the database: {', '.join(skipped)}" if skipped else ""
    return CLEAN, f"{len(audited)} packages audited, no known vulnerability{rest}"


def _ids(package: dict[str, list[dict[str, str]]]) -> str:
    return ", ".join(one["id"] for one in package["vulns"])


if __name__ == "__main__":
    status, said = audit(sys.argv[1:])
    print(said)
    sys.exit(status)
