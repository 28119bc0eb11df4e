"""Experiments: a config becomes a plan, a plan becomes records, records become figures."""
