"""The life of a device: inventory, prepare, attach, detach, free, recovery, publishing, health. Async, no sockets."""
