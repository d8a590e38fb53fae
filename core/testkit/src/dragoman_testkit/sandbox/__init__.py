"""The sandbox: a node in one process, for demos, tests and play. Needs the extra ``sandbox``."""
