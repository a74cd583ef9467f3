"""Staging: the private folder of one run, its sealed manifests, digests and keys."""
