"""Semantic versions 2.0.0."""
