"""A manager of links that the host has: they go into pods and come back. Installed as somebody else's distribution.

Their health is what a file says while the agent runs: ``{"lender0": "its cable is out"}``; one not named is healthy.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from dragoman_hookspecs import Device, DeviceManager, Health, HealthReport, Inventory, WatchHealth, hookimpl
from dragoman_kit.identity import identify
from dragoman_kit.manager import NetdevManager
from dragoman_kit.netlink import Netlink
from tests.e2e import thirdparty


@dataclass(frozen=True, slots=True, kw_only=True)
class BorrowedSettings:
    """``links``: their names. ``complaints``: the file."""

    links: tuple[str, ...]
    complaints: str


class Borrowed(NetdevManager[BorrowedSettings]):
    """Makes no link and deletes none."""

    type = "borrowed"

    def inventory(self) -> Inventory:
        """Give the links that are on the host now."""
        with Netlink() as netlink:
            links = [link for name in self.settings.links if (link := netlink.link(name))]
        return Inventory(
            devices=tuple(
                Device(
                    name=link.name,
                    identity=identify(link),
                    link=link.name,
                    attributes={"ifName": link.name},
                    filter_values={"ifNames": link.name},
                )
                for link in links
            )
        )

    @hookimpl
    def watch_health(self, request: WatchHealth) -> None:
        """Read the file again and again."""
        while not request.stopped.wait(0.2):
            complaints = read(Path(self.settings.complaints))
            request.report(
                [
                    HealthReport(
                        device=name,
                        health=Health.UNHEALTHY if name in complaints else Health.HEALTHY,
                        message=complaints.get(name, ""),
                    )
                    for name in self.settings.links
                ]
            )


plugin = DeviceManager(type=Borrowed.type, settings_key="borrowed", settings=BorrowedSettings, create=Borrowed)


def install(disk: Path) -> dict[str, str]:
    """Install it on a node's disk; give the variable that makes the agent see it."""
    folder = disk / "distributions"
    if not folder.exists():
        thirdparty.install(folder, "borrowed", f"from {__name__} import plugin as plugin\n")
    return thirdparty.path(folder)


def read(path: Path) -> dict[str, str]:
    """Read the file of complaints."""
    complaints: dict[str, str] = json.loads(path.read_text()) if path.exists() else {}
    return complaints


def complain(path: Path, complaints: dict[str, str]) -> None:
    """Write it."""
    new = path.with_suffix(".new")
    new.write_text(json.dumps(complaints))
    new.replace(path)
