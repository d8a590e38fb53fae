"""The agent as a process, in the sandbox: what only shows when everything runs together."""
