"""Pretrained weights: the manifest, cards, and search, reading and download of files."""
