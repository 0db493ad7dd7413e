"""A network that reads whole texts: its files in a Hugging Face folder."""
