"""Commands about an index, one file for each noun."""
