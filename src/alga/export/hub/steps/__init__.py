"""A network that answers prompts: its files in a Hugging Face folder, and the one that opens it in TransformerLens."""
