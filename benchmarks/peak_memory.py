"""The peak of a process's own memory."""

import re
import resource
import sys
from pathlib import Path


def peak_mb() -> float:
    """Return the most memory that this process has held, in MB.

    Linux's VmHWM starts anew with the program; `ru_maxrss` goes on from the process that started
    it, and would hide what a child really needs.
    """
    status = Path("/proc/self/status")
    found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text()) if status.exists() else None
    if found:
        return int(found[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / (1024 * 1024 if sys.platform == "darwin" else 1024)
