"""CEL selectors about the devices that these worlds have."""

from __future__ import annotations

from tests.differential.worlds.devices import FOREIGN
from tests.differential.worlds.dice import Dice


def easy(dice: Dice, driver: str) -> str:
    """Give a selector that about half of the driver's devices meet, and that asks for no missing key."""
    d, c = f'device.attributes["{driver}"]', f'device.capacity["{driver}"]'
    return dice.one(
        [
            f'device.driver == "{driver}" && {d}.kind == "{dice.one("XYZ")}"',
            f'device.driver == "{driver}" && {d}.kind != "X"',
            f"device.driver == '{driver}' && {d}.numa >= {dice.number(0, 2)}",
            f'device.driver == "{driver}" && {d}.version.compareTo(semver("1.2.0")) {dice.one(["<", ">=", "!="])} 0',
            f"{d}.?fast.orValue(false)",
            f"!{d}.?fast.orValue(true)",
            f'"label" in {d}',
            f'has(device.attributes["{FOREIGN}"].root) && device.attributes["{FOREIGN}"].root in ["pci0", "pci1"]',
            f'device.attributes["{FOREIGN}"].?root.orValue("") != "pci0"',
            "device.allowMultipleAllocations == false",
            f'"mem" in {c} && {c}.mem.compareTo(quantity("{dice.one(["2Gi", "4Gi"])}")) >= 0',
            f'device.capacity["{driver}"].?mem.orValue(quantity("0")).isLessThan(quantity("8Gi"))',
            f'{d}.?label.orValue("").startsWith("group-")',
            f'cel.bind(x, {d}, x.?label.orValue("group-0").matches("^group-[01]$"))',
            f'{d}.exists(k, k == "label") || device.driver != "{driver}"',
            f'["X", "Y"].exists(k, {d}.?kind.orValue("Z") == k)',
        ]
    )


def hard(dice: Dice, driver: str) -> str:
    """Give a selector that fails on some devices, or everywhere."""
    d = f'device.attributes["{driver}"]'
    return dice.one(
        [
            f"{d}.fast",
            f'{d}.label == "group-1"',
            f'{d}.zones.includes("a")',
            f'"a" in {d}.zones',
            f"{d}.kind",
            f"{d}.numa > {d}.kind",
            f"{d}.missing == 1",
            f'device.capacity["{driver}"].cores.isGreaterThan(quantity("2"))',
            "device.driver",
            "device.driver ==",
            "true &&",
            f'{d}.version == "1.0.0"',
        ]
    )


def derived(dice: Dice, driver: str) -> str:
    """Give an expression for a derived attribute."""
    d = f'device.attributes["{driver}"]'
    return dice.one(
        [
            f'{d}.?label.orValue("none").split("-")[0]',
            f'{d}.kind + "!"',
            f"{d}.numa % 2",
            f"{d}.numa + 1",
            f'{d}.?label.orValue("group-9").substring(6)',
            f"{d}.?fast.orValue(false)",
            f'[{d}.kind, {d}.kind + "b"]',
            f"{d}.version",
            f"{d}.label",
        ]
    )
