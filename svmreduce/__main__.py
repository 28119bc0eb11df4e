"""``python -m svmreduce``: the command line where the script is not on the path."""

from svmreduce.cli.main import main

if __name__ == "__main__":
    main()
