"""What the kernel says of a process (proc(5))."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

_MEGABYTE = 1e6
_TICKS = os.sysconf("SC_CLK_TCK")


def cpu_seconds(pid: int) -> float:
    """Give the seconds that its threads, ended ones too, spent in user and kernel mode since it began."""
    after_name = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(after_name[11]) + int(after_name[12])) / _TICKS


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Megabytes (of 1,000,000 bytes): ``rss`` all of it, ``pss`` with shared pages divided, ``anonymous`` its own."""

    rss: float
    pss: float
    anonymous: float


def memory(pid: int) -> Memory:
    """Read the present memory of a process."""
    lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()[1:]
    found = {name: int(rest.split()[0]) * 1024 / _MEGABYTE for name, _, rest in (line.partition(":") for line in lines)}
    return Memory(rss=found["Rss"], pss=found["Pss"], anonymous=found["Anonymous"])


def threads(pid: int) -> int:
    """Count its threads."""
    return len(list(Path(f"/proc/{pid}/task").iterdir()))


def descriptors(pid: int) -> int:
    """Count its open files."""
    return len(list(Path(f"/proc/{pid}/fd").iterdir()))
