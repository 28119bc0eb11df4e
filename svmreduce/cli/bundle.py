"""``svmreduce bundle``: a run in one file that others can check."""

from __future__ import annotations

import click

from svmreduce.cli.common import check_writable, json_option, print_json, quiet_option

_EPILOG = """\b
Examples:
  svmreduce bundle results/runs/smoke-smoke -o smoke.tar.gz
  svmreduce verify smoke.tar.gz --rerun 0.1
"""


@click.command(epilog=_EPILOG)
@click.argument("run", metavar="RUN")
@click.option("-o", "--out", metavar="FILE", required=True, help="The archive to write, such as run.tar.gz.")
@json_option
@quiet_option
def bundle(run, out, as_json, quiet):
    """Pack the run folder RUN: config, plan, records, environment, a checklist, and hashes of everything.

    Data are not in it, but their hashes are. Publish the printed SHA-256 elsewhere: with it a reader knows that the
    archive is yours.
    """
    from svmreduce.experiments import store
    from svmreduce.experiments.archive import pack
    from svmreduce.reports.checklist import checklist

    check_writable(out)
    found = store.read(run)
    digest = pack(found, checklist(found), out)
    if found.missing and not quiet:
        click.echo(f"Note: {found.missing} planned records are not there; svmreduce run would make them", err=True)
    if as_json:
        print_json({"file": out, "records": len(found.records), "missing": found.missing, "sha256": digest})
    elif not quiet:
        click.echo(f"{len(found.records)} records in {out}\nSHA-256 {digest}")
