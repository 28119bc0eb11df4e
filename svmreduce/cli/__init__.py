"""The command line: one short file per command, imported only when that command runs."""
