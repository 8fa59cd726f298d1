"""elu-zoo-reproduce: its arguments, and errors before any run."""

import pytest

from elu_zoo.pairs import runner
from elu_zoo.paper import reproduce
from elu_zoo.paper.figures import timing


@pytest.fixture
def called(monkeypatch):
    """Arguments of each call of `reproduce.reproduce`, whose stand-in does nothing."""
    found = []
    monkeypatch.setattr(reproduce, "reproduce", lambda *args, **named: found.append((*args, named)))
    return found


def test_flags_and_defaults_reach_the_plan(cli, called, monkeypatch):
    monkeypatch.setattr(runner, "default_jobs", lambda: 7)
    assert cli("reproduce", "fig2").code == 0
    ((names, plan, output, named),) = called
    assert (names, str(output), named["jobs"]) == (["fig2"], "reproduction", 7)
    assert (plan.budget, plan.seeds, plan.imagenet) == ("short", None, None)
    called.clear()
    result = cli(
        "reproduce",
        "all",
        "--seeds=3",
        "--budget=full",
        "--jobs=2",
        "--output=out",
        "--workdir=work",
        "--imagenet=pictures",
        "--data_dir=prepared",
    )
    assert result.code == 0, result.err
    ((names, plan, output, named),) = called
    assert names == ["all"] and str(output) == "out"
    assert (plan.budget, plan.seeds) == ("full", 3)
    assert (str(plan.workdir), plan.imagenet) == ("work", "pictures")
    assert plan.data_dir == "prepared"
    assert named["jobs"] == 2


@pytest.mark.slow
def test_experiments_without_training_write_figures_and_report(cli, tmp_path):
    result = cli("reproduce", "table1", "fig1", "--budget=smoke", "--output=out")
    assert result.code == 0, result.err
    assert result.out.splitlines()[-1] == "out/reproduction.md"
    found = {str(path.relative_to(tmp_path / "out"))
             for path in (tmp_path / "out").rglob("*.*")}  # fmt: skip
    assert found == {
        *("claims.csv", "claim_tests.csv", "reproduction.md"),
        "figures/table1.csv",
        *(f"figures/fig1.{suffix}" for suffix in ("csv", "png", "svg")),
    }


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ([], "Pass at least one experiment: all, or some of fig1"),
        (["fig2", "dept"], "Unknown experiment 'dept'. Did you mean 'depth'"),
        (["fig2", "--budget=long"], "budget"),
        (["fig2", "--seeds=0"], "seeds must be >= 1. Received: 0"),
        (["fig2", "--jobs=0"], "jobs"),
        (["fig2", "--bugdet=full"], "Unknown flag '--bugdet'. Did you mean '--budget'"),
    ],
)
def test_mistakes_are_refused_before_any_run(cli, called, tmp_path, arguments, words):
    result = cli("reproduce", *arguments)
    assert result.code == 2
    assert words in result.error
    assert called == []
    assert list(tmp_path.iterdir()) == []


@pytest.mark.data("cifar100")
@pytest.mark.slow
def test_an_experiment_without_data_is_skipped(cli, monkeypatch, tmp_path):
    monkeypatch.setattr(timing, "compute", lambda plan: [])
    result = cli("reproduce", "table1", "fig6", "--output=out", "--imagenet=nowhere")
    assert result.code == 1
    assert "left out, for the reasons printed above: fig6." in result.err
    assert "fig6: left out. " in result.out and "nowhere" in result.out
    assert (tmp_path / "out" / "reproduction.md").exists()
