"""Device manager for macvlan links on a parent interface."""
