"""What can go wrong with the ledger, apart from an illegal transition."""

from __future__ import annotations

from dragoman_hookspecs import DragomanError


class LedgerFault(DragomanError):
    """The ledger could not be read or written (disk full, permission, closed). What was there before still stands."""


class LedgerTooNew(DragomanError):
    """The file was written by a release whose schema this program does not know."""


class LedgerDamaged(LedgerFault):
    """The file is not a ledger, or not a whole one. ``Ledger.open`` handles it: the file is set aside."""
