"""The claims: their rows, the committed file's too, and how many pairs decide them."""

import re
from pathlib import Path

import pytest
from paper_claims import PAPER
from synthetic_points import (
    DECIDED,
    FULL,
    OPEN,
    TRAINED,
    always,
    at_chance,
    never,
    view,
    write,
)

from elu_zoo import results
from elu_zoo.paper import claims, views
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.judging import Finding
from elu_zoo.paper.run.spec import Plan
from elu_zoo.paper.views import View

MEASURED = Path(__file__).parents[2] / "configs" / "results"
VERDICTS = "holds", "does not hold", "not decided"
CLAIMS = {claim.name: claim for claim in claims.CLAIMS}


def world(turned=never, plan=FULL, names=TRAINED):
    return {name: view(name, plan, turned) for name in names}


def level(name):
    """Returns the p from which a claim holds, and the fewest pairs that decide it."""
    return (0.001, 10) if "p-below-.001" in name else (0.05, 5)


def timed(ratio, low, high, case="elu_cifar_11, batch of 100", form="elu"):
    row = {"case": case, "form": form, "rounds": "15"}
    return row | {"ratio": str(ratio), "ratio_low": str(low), "ratio_high": str(high)}


def judged_of_timing(name, *rows):
    found = claims.judged({"timing": View("short", {"timing": list(rows)})})[name]
    return found.n, found.verdict


def test_claims_are_told_apart():
    assert len(CLAIMS) == len(claims.CLAIMS) > 40
    found = claims.judged({})
    assert len({claim.text for claim in claims.CLAIMS}) == len(found)


@pytest.mark.parametrize("name", CLAIMS)
def test_a_claim_is_of_the_paper_and_of_an_experiment(name):
    claim = CLAIMS[name]
    assert re.fullmatch(r"[a-z0-9.\-_]+", name)
    parts = claim.section.split(", ")
    assert parts and all(
        re.fullmatch(r"abstract|appendix [A-C]|[1-5](\.[1-4](\.[12])?)?", part)
        for part in parts
    )
    assert claim.text and claim.experiment in EXPERIMENTS


def test_every_experiment_with_runs_decides_a_claim():
    """But ImageNet's, whose claims are open."""
    of = {CLAIMS[name].experiment for name in CLAIMS if name not in OPEN}
    assert of == {*TRAINED, "timing", "theorems"}


@pytest.fixture(scope="module")
def committed():
    return results.read_file(MEASURED / "claims.csv")


def test_each_claim_has_a_row_in_the_committed_file(committed):
    assert [row["id"] for row in committed] == list(CLAIMS)
    for row in committed:
        claim = CLAIMS[row["id"]]
        assert list(row) == list(claims.COLUMNS)
        assert (row["section"], row["claim"]) == (claim.section, claim.text)
        assert row["experiment"] == claim.experiment


@pytest.mark.parametrize("name", [n for n, e in EXPERIMENTS.items() if e.columns])
def test_the_committed_points_are_of_this_version(name):
    """Else whoever clones us has to move them away before anything runs."""
    views.points(name, MEASURED).check()


def test_verdicts_of_the_committed_file(committed):
    assert committed
    for row in committed:
        n, p = int(row["n"]), float(row["p"] or "nan")
        assert row["verdict"] in VERDICTS
        largest, least = level(row["id"])
        # What fewer than ten pairs say of a p of ten is not told.
        told = n >= least if largest < 0.05 else bool(n)
        assert bool(n) == bool(row["budget"]) and bool(row["effect"]) == told
        assert row["budget"] in ("", "short", "full")
        if n < least:
            assert row["verdict"] == "not decided", row["id"]
        elif row["p"]:
            assert 2.0**-n <= p * 1.001 and p <= 1
            assert (p <= largest) == (row["verdict"] == "holds"), row["id"]
            assert p > 0.5 or row["verdict"] != "does not hold", row["id"]


def test_the_committed_file_is_of_the_committed_points(committed):
    seen = {name: views.view(name, MEASURED) for name in EXPERIMENTS}
    found = claims.judged({name: each for name, each in seen.items() if each})
    for row in committed:
        finding = found.get(row["id"])
        if finding and finding.n:
            assert row["n"] == str(finding.n) and row["verdict"] == finding.verdict
            effect = float(row["effect"] or "nan")
            assert effect == pytest.approx(finding.effect, rel=1e-3, nan_ok=True)
            assert row["budget"] == seen[row["experiment"]].budget


@pytest.mark.parametrize("seeds", [1, 2, 4])
def test_few_pairs_decide_nothing(seeds):
    plan = Plan("full", None, seeds, FULL.workdir)
    found = claims.judged(world(plan=plan))
    for name in DECIDED:
        assert (found[name].n, found[name].verdict) == (seeds, "not decided"), name


def test_smoke_runs_decide_nothing():
    found = claims.judged(world(plan=Plan("smoke", None, 10, FULL.workdir)))
    assert any(each.n == 10 for each in found.values())
    assert {each.verdict for each in found.values()} == {"not decided"}


OF_P = [name for name in CLAIMS if "p-below-.001" in name]


def plainly(name):
    """Returns the claim without its p."""
    plain = name.replace("-p-below-.001", "-below")
    return plain if plain in CLAIMS else name.removesuffix("-p-below-.001")


@pytest.mark.parametrize(("seeds", "verdict"), [(9, "not decided"), (10, "holds")])
def test_ten_pairs_are_needed_for_the_papers_p(seeds, verdict):
    plan = Plan("full", None, seeds, FULL.workdir)
    found = claims.judged(world(plan=plan, names=("fig4", "fig5")))
    for name in OF_P:
        assert (found[name].verdict, found[name].n) == (verdict, seeds)
        assert found[plainly(name)].verdict == "holds"


def test_the_papers_p_wants_all_pairs_to_agree():
    """One of ten that does not: p is above .001, and far below .05."""

    def first(row, column):
        return row["seed"] == "0"

    found = claims.judged(world(first, names=("fig4", "fig5")))
    assert len(OF_P) == 7
    for name in OF_P:
        assert found[name].verdict == "not decided" and found[name].n == 10
        plain = found[plainly(name)]
        assert plain.verdict == "holds" and 0.001 < plain.p < 0.05


def test_the_short_budgets_pair_on_the_papers_schedule_is_no_pair_of_the_others():
    plan = Plan("short", None, 5, FULL.workdir)
    found = claims.judged({"fig4": view("fig4", plan)})
    of = [n for n in CLAIMS if CLAIMS[n].experiment == "fig4" and n not in OPEN]
    assert of and {found[name].n for name in of} == {5}


def written(output, **how):
    """Returns what is seen of files with points."""
    for name in TRAINED:
        write(name, output, **how)
    seen = {name: views.view(name, output) for name in TRAINED}
    return claims.judged({name: each for name, each in seen.items() if each})


UNITS = "elu", "relu", "leaky_relu", "shifted_relu", "prelu"
FIVE = Plan("full", None, 5, FULL.workdir)


def test_runs_that_diverged_are_in_no_pair(tmp_path):
    """But of autoencoders' units, where they rank last: here both of a pair."""
    found = written(tmp_path, plan=FIVE, diverged={(unit, 3) for unit in UNITS})
    for name in DECIDED:
        n = 5 if name.startswith("autoencoder-t") else 4
        assert (found[name].n, found[name].verdict) == (n, "not decided"), name


@pytest.mark.parametrize(("error", "n"), [("98.4", 5), ("99", 0)])
def test_a_unit_that_stays_at_chance_loses_to_none(error, n):
    seen = view("fig4", FIVE)
    at_chance(seen.rows["fig4"], "shifted_relu", range(5), error)
    found = claims.judged({"fig4": seen})
    for measure in "test-error", "training-loss":
        finding = found[f"cifar100-{measure}-below-shifted_relu"]
        assert (finding.n, finding.verdict) == (n, "holds" if n else "not decided")
        assert found[f"cifar100-{measure}-below-relu"].n == 5
    assert found["cifar100-shifted_relu-below-leaky_relu"].n == n


def test_autoencoders_that_diverged_are_the_worst(tmp_path):
    found = written(tmp_path, plan=FIVE, diverged={("elu", s) for s in range(5)})
    other = written(tmp_path / "other", plan=FIVE, turned=always,
                    diverged={("relu", s) for s in range(5)})  # fmt: skip
    names = [n for n in CLAIMS if re.fullmatch("autoencoder-t.*-than-relu", n)]
    assert len(names) == 8
    for name in names:
        assert (found[name].n, found[name].verdict) == (5, "does not hold"), name
        assert (other[name].n, other[name].verdict) == (5, "holds"), name


@pytest.mark.parametrize(
    ("row", "expected"),
    [
        (timed(1.02, 1.01, 1.05), (15, "holds")),
        (timed(1.02, 1.01, 1.0583), (15, "holds")),
        (timed(1.05, 1.01, 1.06), (15, "not decided")),
        (timed(1.1, 1.0583, 1.2), (15, "not decided")),
        (timed(1.1, 1.06, 1.2), (15, "does not hold")),
        (timed(0.9, 0.8, 0.95, form="relu, batch norm"), (0, "not decided")),
        (timed(0.9, 0.8, 0.95, case="mnist_mlp_8x128, batch"), (0, "not decided")),
    ],
)
def test_of_timing(row, expected):
    assert judged_of_timing("elu-costs-5-percent", row) == expected


@pytest.mark.parametrize(
    ("elu", "normalised", "expected"),
    [
        ((1.1, 1.0, 1.2), (1.5, 1.3, 1.6), (15, "holds")),
        ((1.1, 1.0, 1.2), (1.5, 1.1, 1.6), (15, "not decided")),
        ((1.5, 1.3, 1.6), (1.5, 1.4, 1.6), (15, "not decided")),
        ((1.5, 1.3, 1.6), (1.1, 1.0, 1.2), (15, "does not hold")),
    ],
)
def test_of_timing_beside_batch_norm(elu, normalised, expected):
    rows = timed(*elu), timed(*normalised, form="relu, batch norm")
    assert judged_of_timing("elu-costs-less-than-batch-norm", *rows) == expected
    for row in rows:
        found = judged_of_timing("elu-costs-less-than-batch-norm", row)
        assert found == (0, "not decided")


@pytest.mark.parametrize(
    ("distances", "verdict"),
    [((1e-15, 9e-10), "holds"), ((1e-15, 2e-9), "does not hold")],
)
def test_of_theorems(distances, verdict):
    rows = [
        {"statement": f"Lemma 2, {i} part", "draw": str(draw), "distance": str(x)}
        for draw in range(3)
        for i, x in enumerate(distances)
    ]
    found = claims.judged({"theorems": View("full", {"theorems": rows})})
    lemma = found["theory-lemma-2"]
    assert (lemma.n, lemma.effect, lemma.verdict) == (3, distances[1], verdict)
    assert found["theory-lemma-1"] == Finding(measure=lemma.measure)


@pytest.mark.parametrize(("section", "words", "names"), PAPER)
def test_what_the_paper_says_has_a_row(section, words, names):
    found = [c for n, c in CLAIMS.items() if re.fullmatch(names, n) and not c.ours]
    assert found, words
    assert any(section in claim.section.split(", ") for claim in found), words


def test_what_the_paper_does_not_say_is_marked():
    of_paper = [names for _, _, names in PAPER]
    for name, claim in CLAIMS.items():
        said = any(re.fullmatch(names, name) for names in of_paper)
        assert said != claim.ours, name


@pytest.mark.parametrize("every", [False, True])
def test_nothing_was_run(every, tmp_path):
    """Or all of it ended in losses that are not finite."""
    plan = Plan("full", None, 1, FULL.workdir)
    gone = {(unit, 0) for unit in UNITS}
    found = written(tmp_path, plan=plan, diverged=gone) if every else claims.judged({})
    for name, each in found.items():
        worst = every and name.startswith("autoencoder-t")
        assert (each.n, each.verdict) == (int(worst), "not decided"), name


def test_the_file(tmp_path):
    found = dict.fromkeys(CLAIMS, Finding(measure="the loss"))
    found["mnist-learns-faster-than-relu"] = Finding(
        *(5, -0.123456, -1.0, float("nan"), 0.03125, "holds", "the loss")
    )
    path = tmp_path / "claims.csv"
    claims.write(path, found, {"fig2": View("short", {}), "fig3": View("full", {})})
    rows = results.read_file(path)
    assert [row["id"] for row in rows] == list(CLAIMS)
    claim = CLAIMS["mnist-learns-faster-than-relu"]
    assert rows[0] == {
        "id": claim.name,
        "whose": "the paper's",
        "section": "abstract, 4.1.1",
        "claim": claim.text,
        "experiment": "fig2",
        "budget": "short",
        "measure": "the loss",
        "n": "5",
        "effect": "-0.1235",
        "low": "-1",
        "high": "",
        "p": "0.03125",
        "verdict": "holds",
    }
    for row in rows[1:]:
        assert (row["n"], row["verdict"], row["budget"]) == ("0", "not decided", "")
        assert {row[key] for key in ("effect", "low", "high", "p")} == {""}
