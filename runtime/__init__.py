"""The user's machine: see the hardware, fetch, install, open, run, measure."""
