"""Where validation finds the repair of texts."""

from dragoman_allocator.texts import well_formed

__all__ = ["well_formed"]
