"""The Transformer: its tokens, its shape, its forward pass in torch and compiled, and the one greedy decoder.

Nothing is imported here: most of the package needs only the tokens and the shape, and torch takes a second to load.
"""
