"""Engines: ways from operands to an answer by a network's steps. All of them give the same answer.

`sequential` is the paper's procedure, `table` looks the same steps up, `lookahead` finds all carries at once,
`whole` reads both numbers in one text.
"""
