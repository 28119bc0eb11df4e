"""Solvers by name. A new one is its module plus one line here; the contract tests find it."""

from svmreduce.registry import Registry

SOLVERS = Registry(
    "solver",
    {
        "aesvm": "svmreduce.solvers.aesvm:AESVC",
        "bvm": "svmreduce.solvers.bvm:BVM",
        "cvm": "svmreduce.solvers.cvm:CVM",
        "fw": "svmreduce.solvers.fw:FW",
        "liblinear": "svmreduce.solvers.liblinear:Liblinear",
        "libsvm": "svmreduce.solvers.libsvm:Libsvm",
        "libsvm_svr": "svmreduce.solvers.libsvm:LibsvmSVR",
        "mfw": "svmreduce.solvers.mfw:MFW",
        "smo": "svmreduce.solvers.smo:SMO",
    },
)
