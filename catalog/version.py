"""The version of this program, stated once."""

VERSION = "0.1.0"
