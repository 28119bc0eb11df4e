"""The command line as the tests call it."""

from click.testing import CliRunner

from svmreduce.cli.main import cli


def call(*arguments):
    """What became of ``svmreduce ARGUMENTS``."""
    return CliRunner().invoke(cli, [str(argument) for argument in arguments])


def fails(*arguments) -> str:
    """The one line on stderr of a command that must end with exit code 2."""
    result = call(*arguments)
    assert result.exit_code == 2 and result.stdout == ""
    assert result.stderr.startswith("Error: ") and result.stderr.count("\n") == 1
    return result.stderr
