"""Damaged input, killed runs and misbehaving methods, from a seed: ``python -m tests.drill --minutes 5 --seed 1``."""
