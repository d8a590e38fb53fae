"""Quantities of the Kubernetes API: parsed exactly, compared by value, printed canonically."""
