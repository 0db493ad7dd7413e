"""The load harness, `make load`: honest and hostile clients ask one server at once; what the honest ones get counts.

Loopback only, and bounded: some 240 hostile connections, eight honest clients, ten minutes.
"""
