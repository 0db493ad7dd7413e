"""Searches over seeds of tiny networks, to find out which shapes can be certified at all."""
