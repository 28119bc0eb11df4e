"""Compiled loops: arrays in, arrays out. Nothing here knows of files, estimators or the command line."""
