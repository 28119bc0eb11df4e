"""``make bench``: the engine beside official LIBSVM and the best peers, measured in one run."""
