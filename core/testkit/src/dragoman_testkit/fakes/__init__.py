"""Shipped fakes: real small implementations of what the agent meets, each at a Protocol or a real socket.

Import the module you need: some need the agent (extra ``sandbox``), others need nothing.
"""
