"""The printed tables of the papers, cell by cell, as YAML."""
