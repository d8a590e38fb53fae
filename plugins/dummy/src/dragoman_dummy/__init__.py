"""Device manager for dummy links."""
