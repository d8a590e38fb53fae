"""What a plugin changes in a container: of NRI's adjustments the stand-in knows the variables."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from dragoman_testkit.sandbox.messages import make

_MESSAGES: Final[dict[str, Any]] = make(
    "nri.adjustments",
    {
        "CreateContainerResponse": {"adjust": (1, "ContainerAdjustment")},
        "ContainerAdjustment": {"env": (4, "[KeyValue]")},
        "KeyValue": {"key": (1, "string"), "value": (2, "string")},
    },
)


def variables(answer: bytes) -> dict[str, str]:
    """Read the variables that an answer to CreateContainer adds."""
    message = _MESSAGES["CreateContainerResponse"].FromString(answer)
    return {item.key: item.value for item in message.adjust.env}


def adding(variables: Mapping[str, str]) -> bytes:
    """Write an answer that adds variables."""
    adjust = {"env": [{"key": key, "value": value} for key, value in variables.items()]}
    message = _MESSAGES["CreateContainerResponse"](adjust=adjust)
    data: bytes = message.SerializeToString()
    return data
