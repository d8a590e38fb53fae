"""The semantics of resource.k8s.io as a pure library: allocation, pool status, validation, accounting."""
