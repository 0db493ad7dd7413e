"""Questions, the runs that answer them, and the pages that tell the answers."""
