"""The mounts of a container as its processes see them: real bind mounts in a mount namespace of their own.

Only mounts below ``/run`` and ``/var/run`` are made, in a fresh folder there: anywhere else the place would have to be
made on this machine's disk. What a driver gives to containers (metadata, guards) is all below them.
"""

from __future__ import annotations

from collections.abc import Sequence

from dragoman_testkit.sandbox.cdi import CdiMount

_PLACES = ("/run/", "/var/run/")
_SCRIPT = """
mount -t tmpfs -o mode=755 container /run
[ -L /var/run ] || [ ! -d /var/run ] || mount -t tmpfs -o mode=755 container /var/run
while [ "$1" != -- ]; do
    if [ -d "$1" ]; then mkdir -p "$2"; else mkdir -p "${2%/*}"; : > "$2"; fi
    mount --bind "$1" "$2"
    shift 2
done
shift
exec "$@"
"""


def inside(mounts: Sequence[CdiMount], argv: Sequence[str]) -> list[str]:
    """Give the command that runs ``argv`` where the mounts, outer paths first, can be seen."""
    pairs = [path for m in mounts if m.container_path.startswith(_PLACES) for path in (m.host_path, m.container_path)]
    if not pairs:
        return list(argv)
    return ["unshare", "--mount", "--propagation", "private", "--", "sh", "-euc", _SCRIPT, "sh", *pairs, "--", *argv]
