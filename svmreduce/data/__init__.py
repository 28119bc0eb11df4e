"""Rows from files, from generators and from the catalogue; scaled and split without looking at test rows."""
