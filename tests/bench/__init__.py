"""The benchmark: ``python -m tests.bench``, or ``tox run -e bench``."""
