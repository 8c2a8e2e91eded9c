"""Linux's own files below a root folder: /proc, /sys and the list of PCI names; nothing here asks the system itself."""
