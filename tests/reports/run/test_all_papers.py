"""The page over all papers counts what the texts of runs say, and believes no text without the paper's grid."""

import pytest

from svmreduce.errors import InputError
from svmreduce.reports import render
from svmreduce.reports.reproduction.paper_comparison import compare_with_paper, wide_table
from svmreduce.reports.reproduction.verdicts import NOT_MEASURED, NOT_PRINTED, REPRODUCED, SAME_DIRECTION
from svmreduce.reports.run import all_papers
from tests.reports.made_up import as_run
from tests.reports.reproduction.test_paper_comparison import solvers

NAMES = ("AESVM", "Bootstrap cleaning", "Frank-Wolfe", "LP-SVR", "RandSVM")
CLAIMS = "".join(
    f"### {name}\n\n| claim | verdict |\n| --- | --- |\n| c of {name} | `full/x.md` |\n\n" for name in NAMES
)


def test_cells_and_claims_of_the_stored_texts(tmp_path):
    results, configs = tmp_path / "results", tmp_path / "configs"
    (results / "full").mkdir(parents=True)
    (configs / "aesvm").mkdir(parents=True)
    comparison = compare_with_paper(as_run(solvers()), "aesvm:table4")
    (results / "full" / "aesvm-table4.md").write_text(render.markdown([wide_table(comparison)]))
    (results / "README.md").write_text(CLAIMS)
    tables = all_papers.collect(results, configs)["aesvm"]
    told = comparison.counts
    counts = all_papers._row("", [tables["table4"]])
    assert counts[REPRODUCED] == told[REPRODUCED] > 0
    assert counts["measured"] + told[NOT_MEASURED] + counts[all_papers.NO_FIGURE] == counts["printed"]
    assert counts["printed"] == sum(told.values()) - told[NOT_PRINTED]
    assert not tables["table5"].cells
    # the same text, but its config has two points only
    experiment = "name: x\ndatasets: [ijcnn1]\nsolvers: [smo]\ngrid: {C: [1, 2], gamma: [1]}\n"
    (configs / "aesvm" / "table4.yaml").write_text(experiment)
    other = all_papers._row("", [all_papers.collect(results, configs)["aesvm"]["table4"]])
    assert (other[REPRODUCED], other[SAME_DIRECTION]) == (0, counts[REPRODUCED] + counts[SAME_DIRECTION])
    page = all_papers.html(results, configs, "a command")
    assert all(f"c of {name}" in page for name in NAMES) and 'href="full/aesvm-table4.md"' in page
    (results / "README.md").write_text(CLAIMS.replace("### LP-SVR", "### Another"))
    with pytest.raises(InputError, match="no table of claims below a heading for lp_svr"):
        all_papers.html(results, configs, "")
