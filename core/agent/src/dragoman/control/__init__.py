"""The control socket: what the command line and a second agent of the node ask this one."""
