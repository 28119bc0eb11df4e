"""Solvers by name. A new one is its module plus one line here; the contract tests find it."""

from svmreduce.registry import Registry

SOLVERS = Registry(
    "solver",
    {
        "aesvm": "svmreduce.solvers.aesvm:AESVC",
        "decomposition": "svmreduce.solvers.decomposition:DecompositionSVC",
        "decomposition_svr": "svmreduce.solvers.decomposition:DecompositionSVR",
        "incremental": "svmreduce.solvers.incremental:Incremental",
        "liblinear": "svmreduce.solvers.liblinear:Liblinear",
        "libsvm": "svmreduce.solvers.libsvm:Libsvm",
        "libsvm_svr": "svmreduce.solvers.libsvm:LibsvmSVR",
        "lp_svc": "svmreduce.solvers.lp_svr:LPSVC",
        "lp_svr": "svmreduce.solvers.lp_svr:LPSVR",
        "lssvm": "svmreduce.solvers.lssvm:LSSVM",
        "network": "svmreduce.solvers.sklearn_baselines:NetworkClassifier",
        "network_regressor": "svmreduce.solvers.sklearn_baselines:NetworkRegressor",
        "smo": "svmreduce.solvers.smo:SMO",
        "tree_regressor": "svmreduce.solvers.sklearn_baselines:TreeRegressor",
    },
)
