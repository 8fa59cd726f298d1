"""Configs: one Python file per experiment."""
