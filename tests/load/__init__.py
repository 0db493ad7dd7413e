"""The load harness, `make load`: honest clients must be served while hostile ones attack the same server.

Loopback only, and bounded: some 240 hostile connections, eight honest clients, ten minutes.
"""
