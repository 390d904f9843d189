"""Rebuild NanoViDoRe v3, or the same kind of benchmark from any page collections."""
