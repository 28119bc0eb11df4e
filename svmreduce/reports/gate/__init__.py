"""The regression gate: is a new run worse than an old one?"""
