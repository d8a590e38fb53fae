"""Dragoman: a Kubernetes DRA driver for network devices whose device managers are plugins."""
