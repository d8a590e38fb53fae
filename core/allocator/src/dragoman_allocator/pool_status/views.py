"""What the partition and the shareable view have in common: their bound, and how they say that they cannot be made."""

from __future__ import annotations

from typing import Final

MAX_ENTRIES: Final = 32
"""Entries of ``partitionSummary`` and of ``shareableSummary.capacity``."""


class NoView(Exception):
    """The view cannot be made; the text is what ``validationError`` says."""
