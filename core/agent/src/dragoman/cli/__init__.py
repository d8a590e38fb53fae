"""The ``dragoman`` program."""
