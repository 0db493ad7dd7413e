"""Studies of the paper's open questions, the reproduction of the paper, and their pages."""
