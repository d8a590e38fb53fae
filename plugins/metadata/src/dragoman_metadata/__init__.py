"""Device metadata for containers (KEP-5304), and the reader that a workload uses."""
