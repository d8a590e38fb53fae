"""Contract suite for device managers, shipped fakes, and a node to play with."""
