"""The ledger on disk, and the lock of the node."""
