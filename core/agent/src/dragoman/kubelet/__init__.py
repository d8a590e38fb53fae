"""The kubelet edge: registration, DRA v1 and v1beta1, health v1 and v1alpha1, pod resources (grpc)."""
