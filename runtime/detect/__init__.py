"""What this machine is: facts, each with its origin; files are read, no process is started, no library loaded."""
