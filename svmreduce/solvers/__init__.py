"""Solvers by name. A new one is its module plus one line here; the contract tests find it."""

from svmreduce.registry import Registry

SOLVERS = Registry(
    "solver",
    {
        "aesvm": "svmreduce.solvers.aesvm:AESVC",
        "lasvm": "svmreduce.solvers.lasvm:LASVM",
        "liblinear": "svmreduce.solvers.liblinear:Liblinear",
        "libsvm": "svmreduce.solvers.libsvm:Libsvm",
        "libsvm_svr": "svmreduce.solvers.libsvm:LibsvmSVR",
        "randsvm": "svmreduce.solvers.randsvm:RandSVM",
        "smo": "svmreduce.solvers.smo:SMO",
        "svmperf": "svmreduce.solvers.svmperf:SVMperf",
    },
)
