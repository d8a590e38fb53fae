"""The NRI edge: mux and ttrpc without I/O, messages, and a connection that comes back."""
