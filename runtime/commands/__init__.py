"""The commands that need this machine, one file for each noun: parse, call one function, return what to show."""
