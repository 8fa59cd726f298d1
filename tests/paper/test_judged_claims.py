"""Claims get the expected outcomes and verdicts on synthetic and on committed rows."""

import re
from pathlib import Path

import pytest
from synthetic_rows import FULL, set_errors, view, write
from synthetic_worlds import CLAIMS, DECIDING_TESTS, TESTS, judged, outcomes, world

from elu_zoo import results
from elu_zoo.pairs.spec import Plan
from elu_zoo.paper import claim_tables, report, views
from elu_zoo.paper.experiments import EXPERIMENTS

COMMITTED = Path(__file__).parents[2] / "configs" / "results"
FIVE = Plan("full", 5, FULL.workdir)


@pytest.mark.parametrize(
    ("contradicts", "outcome", "verdict", "verdict_of_depth"),
    [
        (False, "supports", "reproduced", "reproduced in early training"),
        pytest.param(True, "contradicts", "contradicted", "not tested", marks=pytest.mark.slow),
    ],
)
def test_claims_are_reproduced_or_contradicted_by_their_rows(
    contradicts, outcome, verdict, verdict_of_depth
):
    # All runs have the paper's length, except the runs of `depth`.
    for each in claim_tables.judge(world(contradicts)):
        deciding = {test.name: x for test, x in each.effects if test.name in DECIDING_TESTS}
        expected = verdict_of_depth if each.experiment == "depth" else verdict
        found = {effect.outcome for effect in deciding.values()}
        if contradicts and each.claim.name == "cifar100-errors":
            found, expected = found - {"differs"}, "different"
        assert found <= {outcome}, deciding
        assert each.verdict == (expected if deciding else "not tested")


@pytest.mark.parametrize(
    ("budget", "verdict", "schedule"),
    [
        ("smoke", "not tested", "2 of 300 epochs"),
        ("short", "reproduced in early training", "50 of 300 epochs"),
        ("full", "reproduced", "300 of 300 epochs"),
    ],
)
def test_shorter_runs_decide_early_training(budget, verdict, schedule):
    plan = Plan(budget, 5, FULL.workdir)
    rows = claim_tables.table(claim_tables.judge(world(plan=plan, names=["fig2"])))
    rows = [row for row in rows if row["experiment"] == "fig2"]
    found = {(row["verdict"], row["schedule"]) for row in rows[:5]}
    assert found == {(verdict, schedule)}


@pytest.mark.parametrize(("seeds", "outcome"), [(9, "too few pairs"), (10, "supports")])
def test_the_papers_p_needs_ten_pairs(seeds, outcome):
    plan = Plan("full", seeds, FULL.workdir)
    names = [name for name in TESTS if "p-below-.001" in name]
    assert len(names) == 7
    seen = world(plan=plan, names=("fig4", "fig5"))
    assert set(outcomes(seen, names).values()) == {outcome}


def test_runs_that_diverged_keep_claims_mixed(tmp_path):
    removed = {("elu", seed) for seed in range(15)}  # five pairs are left
    write("fig2", tmp_path, diverged=removed)
    table = claim_tables.table(claim_tables.judge({"fig2": views.view("fig2", tmp_path)}))
    rows = [row for row in table if row.get("n") == 5]
    assert rows and {row["verdict"] for row in rows} == {"mixed"}
    assert all(row["tests"].endswith(", runs diverged") for row in rows)


def test_diverged_runs_of_an_activation_that_no_test_uses_decide_nothing(tmp_path):
    write("fig2", tmp_path, diverged={("prelu", 0)})
    found = claim_tables.judge({"fig2": views.view("fig2", tmp_path)})
    verdicts = {(each.verdict, *each.failures) for each in found if each.experiment == "fig2"}
    assert verdicts == {("reproduced",)}


@pytest.mark.parametrize(
    ("diverging", "seeds", "contradicts", "outcome"),
    [(("elu",), 5, False, "contradicts"), (("relu",), 5, True, "supports"),
     (("elu",), 2, False, "diverged"), (("relu",), 4, True, "diverged"),
     (("elu", "relu"), 5, False, "diverged")]
)  # fmt: skip
def test_an_autoencoder_that_diverges_is_the_worse_of_its_pair(
    tmp_path, diverging, seeds, contradicts, outcome
):
    # A pair whose autoencoders both diverge has no effect.
    diverged = {(name, seed) for name in diverging for seed in range(seeds)}
    write("fig3", tmp_path, FIVE, contradicts, diverged)
    names = [n for n in TESTS if re.fullmatch("autoencoder-t.*-than-relu", n)]
    assert len(names) == 12
    found = outcomes({"fig3": views.view("fig3", tmp_path)}, names)
    assert set(found.values()) == {outcome}


@pytest.mark.parametrize(
    ("gain", "outcome"), [(0.1, "supports"), (0.24, "no difference"), (0.5, "contradicts")]
)
def test_batch_norm_improves_by_more_than_the_papers_standard_deviation(gain, outcome):
    seen = view("fig5", FIVE)
    for seed in range(5):
        set_errors(seen.rows, "elu", [seed], "30")
        lower = 30 - gain + 0.01 * (seed - 2)
        set_errors(seen.rows, "elu", [seed], str(lower), batch_norm="True")
    assert judged({"fig5": seen})["cifar100-elu-below-elu-bn"].outcome == outcome


@pytest.mark.parametrize(("error", "n"), [("98.4", 5), ("99", 4)])
def test_runs_at_chance_are_in_no_pair_and_keep_claims_mixed(error, n):
    seen = view("fig4", FIVE)
    set_errors(seen.rows, "shifted_relu", [3], error)
    found = judged({"fig4": seen})
    for measure in "test-error", "training-loss":
        assert found[f"cifar100-{measure}-below-shifted_relu"].n == n
        assert found[f"cifar100-{measure}-below-relu"].n == 5
    assert found["cifar100-shifted_relu-below-leaky_relu"].n == n
    for each in claim_tables.judge({"fig4": seen}):
        failed = n < 5 and each.experiment == "fig4" and each.claim.tests
        assert each.failures == (["at chance"] if failed else [])
        assert not (failed and each.verdict == "reproduced")


def test_names_are_unique():
    names = [claim.name for _, claim in CLAIMS]
    assert len(set(names)) == len(names) >= 20
    assert sum(len(claim.tests) for _, claim in CLAIMS) == len(TESTS)


def write_tables(output):
    """Writes the tables of claims from the committed rows, and returns the report."""
    seen = {name: found for name in EXPERIMENTS if (found := views.view(name, COMMITTED))}
    judged = claim_tables.judge(seen)
    claim_tables.write(output, judged)
    return report.text(seen, judged)


def test_the_committed_files_are_made_from_the_committed_rows(tmp_path):
    texts = write_tables(tmp_path), (COMMITTED / report.NAME).read_text()
    made, stored = ([x for x in text.splitlines() if x[:1] != "|"] for text in texts)
    assert made == stored, "see CONTRIBUTING.md, An experiment"
    for name in "claims.csv", "claim_tests.csv":
        rows = results.read_file(tmp_path / name)
        committed = results.read_file(COMMITTED / name)
        for row, expected in zip(rows, committed, strict=True):
            for number in {"effect", "low", "high", "p"} & row.keys():
                made, stored = float(row.pop(number) or "nan"), expected.pop(number)
                stored = float(stored or "nan")
                assert made == pytest.approx(stored, rel=1e-2, abs=1e-9, nan_ok=True)
            assert row == expected


def test_changed_verdicts_end_at_the_verdicts_of_the_claims():
    verdicts = {row["id"]: row["verdict"] for row in results.read_file(COMMITTED / "claims.csv")}
    changed = results.read_file(COMMITTED / "verdicts_changed.csv")
    assert {row["became"]: row["after"] for row in changed} == {
        row["became"]: verdicts.get(row["became"], "dropped") for row in changed
    }
    assert all(row["reason"] for row in changed)
