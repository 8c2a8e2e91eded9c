"""Signing: an index as a folder of static files, a TUF repository, made and changed."""
