"""``python -m svmreduce``: the command line where the script is not on the path."""

from svmreduce.paths import import_from_here_last

if __name__ == "__main__":
    import_from_here_last()
    from svmreduce.cli.main import main

    main()
