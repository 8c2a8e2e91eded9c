"""Where documents and their artifacts come from."""
