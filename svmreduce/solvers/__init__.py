"""Solvers by name. A new one is its module plus one line here; the contract tests find it.

Which file is what
    A module or package without an underscore is a method, or a few forms of one: its name is that of the method, of its
    class, and of its test. A package (``lp_svr``) is a method with helpers of its own; the estimator is in
    the module of the same name. Modules with an underscore are what several methods share: parents (``_engine``,
    ``_enclosing_ball``, ``_landmarks``, ``_first_rows``) and tools (``_multiclass``, ``_outcome``, ``_nodes``).
    Methods that train on rows from the disk as well (``dcsvm``, ``randsvm``) are above ``outofcore``, at the top.
    ``_any_estimator`` makes a solver of any classifier or regressor with scikit-learn's conventions.
    ``base`` is the template of all, and ``tuning`` chooses C for any of them.
Where outer loops are
    A loop is in ``core`` if its steps are compiled code on arrays: it knows kernels and bounds, but no estimator.
    A loop whose step is a whole solve (another solver, a linear program, a matrix factorisation) is with its method.
"""

from svmreduce.registry import Registry

SOLVERS = Registry(
    "solver",
    {
        "aesvm": "svmreduce.aesvm:AESVC",
        "bvm": "svmreduce.solvers.bvm:BVM",
        "cvm": "svmreduce.solvers.cvm:CVM",
        "dcsvm": "svmreduce.dcsvm:DCSVM",
        "dcsvr": "svmreduce.dcsvm:DCSVR",
        "decomposition": "svmreduce.solvers.decomposition:DecompositionSVC",
        "decomposition_svr": "svmreduce.solvers.decomposition:DecompositionSVR",
        "fw": "svmreduce.solvers.fw:FW",
        "incremental": "svmreduce.solvers.incremental:Incremental",
        "kernel_pegasos": "svmreduce.solvers.pegasos:KernelPegasos",
        "lasvm": "svmreduce.solvers.lasvm:LASVM",
        "liblinear": "svmreduce.solvers.liblinear:Liblinear",
        "libsvm": "svmreduce.solvers.libsvm:Libsvm",
        "libsvm_nu_svc": "svmreduce.solvers.libsvm:LibsvmNuSVC",
        "libsvm_nu_svr": "svmreduce.solvers.libsvm:LibsvmNuSVR",
        "libsvm_one_class": "svmreduce.solvers.libsvm:LibsvmOneClass",
        "libsvm_svr": "svmreduce.solvers.libsvm:LibsvmSVR",
        "lp_svc": "svmreduce.solvers.lp_svr:LPSVC",
        "lp_svr": "svmreduce.solvers.lp_svr:LPSVR",
        "lssvm": "svmreduce.solvers.lssvm:LSSVM",
        "mfw": "svmreduce.solvers.mfw:MFW",
        "network": "svmreduce.solvers.sklearn_baselines:NetworkClassifier",
        "network_regressor": "svmreduce.solvers.sklearn_baselines:NetworkRegressor",
        "nu_svc": "svmreduce.solvers.nu_svc:NuSVC",
        "nu_svr": "svmreduce.solvers.nu_svr:NuSVR",
        "nystroem": "svmreduce.solvers.nystroem:Nystroem",
        "one_class": "svmreduce.solvers.one_class:OneClass",
        "pegasos": "svmreduce.solvers.pegasos:Pegasos",
        "randsvm": "svmreduce.randsvm:RandSVM",
        "rfeatsvm1": "svmreduce.solvers.rfeat:RfeatSVM1",
        "rfeatsvm2": "svmreduce.solvers.rfeat:RfeatSVM2",
        "rsvm": "svmreduce.solvers.rsvm:RSVM",
        "smo": "svmreduce.solvers.smo:SMO",
        "svmperf": "svmreduce.solvers.svmperf:SVMperf",
        "svr": "svmreduce.solvers.svr:SVR",
        "tree_regressor": "svmreduce.solvers.sklearn_baselines:TreeRegressor",
    },
    needs="fit_facts",
    adapter="svmreduce.solvers._any_estimator:as_solver",
)
