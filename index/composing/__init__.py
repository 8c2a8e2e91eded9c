"""A file or folder becomes a release: what is said of it, completed from its files."""
