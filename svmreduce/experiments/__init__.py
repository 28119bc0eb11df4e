"""Experiments: from a config to records, and from records to figures. Nothing here knows of tables or pages."""
