"""The allocator library against Kubernetes' own code: random worlds, asked of both."""
