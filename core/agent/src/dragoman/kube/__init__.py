"""The API server edge: discovery of versions, slices, claims, claim status, events."""
