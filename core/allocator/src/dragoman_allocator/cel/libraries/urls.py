"""``url``."""

OVERLOADS = ()
