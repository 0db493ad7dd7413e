"""A network shown: over HTTP with a page (`alga serve`), or as the same page in a single file (`alga export`)."""
