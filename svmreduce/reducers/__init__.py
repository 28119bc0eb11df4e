"""Reducers by name. A new one is its module plus one line here; the contract tests find it.

Every module but ``base`` is a method. The package ``bootstrap`` is one with helpers of its own; the reducer is in the
module of the same name.
"""

from svmreduce.registry import Registry

REDUCERS = Registry(
    "reducer",
    {
        "bootstrap": "svmreduce.reducers.bootstrap:BootstrapCleaning",
        "derive_rs": "svmreduce.reducers.derive_rs:DeriveRS",
        "mahalanobis": "svmreduce.reducers.mahalanobis:Mahalanobis",
        "random": "svmreduce.reducers.random:RandomSample",
    },
    needs="selects_rows",
)
