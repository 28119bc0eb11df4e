"""Solvers by name. A new one is its module plus one line here; the contract tests find it."""

from svmreduce.registry import Registry

SOLVERS = Registry(
    "solver",
    {
        "aesvm": "svmreduce.aesvm:AESVC",
        "bvm": "svmreduce.solvers.bvm:BVM",
        "cvm": "svmreduce.solvers.cvm:CVM",
        "decomposition": "svmreduce.solvers.decomposition:DecompositionSVC",
        "decomposition_svr": "svmreduce.solvers.decomposition:DecompositionSVR",
        "fw": "svmreduce.solvers.fw:FW",
        "incremental": "svmreduce.solvers.incremental:Incremental",
        "kernel_pegasos": "svmreduce.solvers.pegasos:KernelPegasos",
        "lasvm": "svmreduce.solvers.lasvm:LASVM",
        "liblinear": "svmreduce.solvers.liblinear:Liblinear",
        "libsvm": "svmreduce.solvers.libsvm:Libsvm",
        "libsvm_svr": "svmreduce.solvers.libsvm:LibsvmSVR",
        "lp_svc": "svmreduce.solvers.lp_svr:LPSVC",
        "lp_svr": "svmreduce.solvers.lp_svr:LPSVR",
        "lssvm": "svmreduce.solvers.lssvm:LSSVM",
        "mfw": "svmreduce.solvers.mfw:MFW",
        "network": "svmreduce.solvers.sklearn_baselines:NetworkClassifier",
        "network_regressor": "svmreduce.solvers.sklearn_baselines:NetworkRegressor",
        "nystroem": "svmreduce.solvers.nystroem:Nystroem",
        "pegasos": "svmreduce.solvers.pegasos:Pegasos",
        "randsvm": "svmreduce.solvers.randsvm:RandSVM",
        "rfeatsvm1": "svmreduce.solvers.rfeat:RfeatSVM1",
        "rfeatsvm2": "svmreduce.solvers.rfeat:RfeatSVM2",
        "rsvm": "svmreduce.solvers.rsvm:RSVM",
        "smo": "svmreduce.solvers.smo:SMO",
        "svmperf": "svmreduce.solvers.svmperf:SVMperf",
        "tree_regressor": "svmreduce.solvers.sklearn_baselines:TreeRegressor",
    },
)
