"""The batch interface: one JSON object per line in, one per line out, for any language."""
