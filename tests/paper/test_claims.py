"""The table of claims: what decides each claim, and the committed file."""

import re
from pathlib import Path

import pytest
from paper_claims import PAPER
from synthetic_rows import FULL, TRAINED, always, never, set_errors, view, write

from elu_zoo import results
from elu_zoo.paper import claims, views
from elu_zoo.paper.experiments import EXPERIMENTS
from elu_zoo.paper.judging import Finding
from elu_zoo.paper.run.spec import Plan
from elu_zoo.paper.views import View

COMMITTED = Path(__file__).parents[2] / "configs" / "results"
CLAIMS = {c.name: c for each in EXPERIMENTS.values() for c in each.claims}
EXPERIMENT = {c.name: n for n, each in EXPERIMENTS.items() for c in each.claims}
# Measured over layers, which differ by their depth, too.
EFFECT_ONLY = {name for name in CLAIMS if "shift-of-correlated-units" in name}
OPEN = {name for name, claim in CLAIMS.items() if not claim.judge} | EFFECT_ONLY
DECIDED = [n for n in CLAIMS if EXPERIMENT[n] in TRAINED and n not in OPEN]
OF_P = [name for name in CLAIMS if "p-below-.001" in name]
UNITS = "elu", "relu", "leaky_relu", "shifted_relu", "prelu"
FIVE = Plan("full", None, 5, FULL.workdir)


def judged(seen):
    return {
        name: claims.judge(claim, seen.get(EXPERIMENT[name]))
        for name, claim in CLAIMS.items()
    }


def world(contradicts=never, plan=FULL, names=TRAINED):
    return {name: view(name, plan, contradicts) for name in names}


@pytest.fixture(scope="module")
def as_in_the_paper():
    return judged(world())


@pytest.fixture(scope="module")
def contradicted():
    return judged(world(always))


def test_claims_of_the_papers_world(as_in_the_paper):
    for name in DECIDED:
        found = as_in_the_paper[name]
        assert (found.verdict, found.p) == ("holds", 2.0**-found.n), name
        assert found.n >= 5 and found.effect < (0.1 if "flat" in name else 0), name


def test_claims_of_the_opposite_world(contradicted):
    for name in DECIDED:
        found = contradicted[name]
        assert (found.verdict, found.p) == ("does not hold", 1), name
        assert found.effect > (0.1 if "flat" in name else 0), name


def test_open_claims_stay_open(as_in_the_paper):
    undecided = {n for n, f in as_in_the_paper.items() if f.verdict == "not decided"}
    untrained = {n for n in CLAIMS if EXPERIMENT[n] in ("timing", "theorems")}
    assert undecided == OPEN | untrained


def last(row):
    return row["last"]


def of_epochs(*epochs):
    return lambda row: row["epoch"] in epochs


def anywhere(row):
    return True


def trained(row):
    return row["epoch"] != "0"


def early(row):
    return 1 <= int(row["epoch"]) <= 25


def late(row):
    return int(row["epoch"]) > 25


def shown(row):
    return row["sigma"] == "0.1"


DECIDING = [
    ("mnist-learns-faster.*", "train_loss", of_epochs("5")),
    ("mnist-fits-to.*", "train_loss", anywhere),
    ("mnist-activations-closer.*", "median_activation",
     lambda row: row["epoch"] not in ("0", "60")),
    ("mnist-activations-smaller.*", "median_activation", trained),
    ("mnist-training-flat.*", "train_loss", of_epochs("1", "25", "60")),
    ("mnist-validation-flat.*", "validation_loss", of_epochs("1", "25", "60")),
    ("autoencoder-training.*", "measured_squared_error", last),
    ("autoencoder-(test|[01]).*", "test_squared_error", last),
    ("mnist-medians-vary.*", "variance_of_changes", anywhere),
    ("mnist-medians-themselves.*", "variance_of_medians", anywhere),
    ("depth.*", "test_error_percent", lambda row: int(row["hidden_layers"]) > 5),
    ("cifar100-training-loss.*", "train_loss", last),
    ("cifar100-(?!training).*", "test_error_percent", last),
    ("noise-deactivation.*", "deactivated_noise_gain", shown),
    ("noise-absence.*", "deactivated_signal", shown),
    ("noise-less.*", "gain", shown),
    ("noise-more.*", "changed", shown),
    ("theory-weighted.*early.*", "weighted_mean_length", early),
    ("theory-weighted.*late.*", "weighted_mean_length", late),
    ("theory-uncorrected.*early.*", "uncorrected_shift", early),
    ("theory-uncorrected.*late.*", "uncorrected_shift", late),
    ("theory-correction.*early.*", "correction", early),
    ("theory-correction.*late.*", "correction", late),
    ("theory-covariances.*", "positive_share", trained),
    ("theory-gradient-early.*", "cosine", early),
    ("theory-gradient-late.*", "cosine", late),
    ("theory-bias-unit.*", "k", trained),
]  # fmt: skip


def test_each_claim_has_one_line_of_the_table():
    for name in DECIDED:
        assert sum(bool(re.fullmatch(each[0], name)) for each in DECIDING) == 1, name


@pytest.mark.parametrize(("names", "column", "where"), DECIDING)
def test_what_decides_a_claim(names, column, where):
    """These numbers alone decide; all other numbers may say the opposite."""

    def decides(row, other):
        return column == other and where(row)

    of = [name for name in DECIDED if re.fullmatch(names, name)]
    assert of
    read = {EXPERIMENT[name] for name in of}
    supported = judged(world(lambda *cell: not decides(*cell), names=read))
    opposed = judged(world(decides, names=read))
    for name in of:
        assert supported[name].verdict == "holds", name
        assert opposed[name].verdict == "does not hold", name


@pytest.mark.parametrize("seeds", [1, 4])
def test_few_pairs_decide_nothing(seeds):
    found = judged(world(plan=Plan("full", None, seeds, FULL.workdir)))
    for name in DECIDED:
        assert (found[name].n, found[name].verdict) == (seeds, "not decided"), name


def test_smoke_runs_decide_nothing():
    found = judged(world(plan=Plan("smoke", None, 10, FULL.workdir), names=["fig2"]))
    assert any(each.n == 10 for each in found.values())
    assert {each.verdict for each in found.values()} == {"not decided"}


def without_p(name):
    plain = name.replace("-p-below-.001", "-below")
    return plain if plain in CLAIMS else name.removesuffix("-p-below-.001")


@pytest.mark.parametrize(
    ("seeds", "contradicts", "verdict"),
    [
        (9, never, "not decided"),
        (10, never, "holds"),
        (10, lambda row, column: row["seed"] == "0", "not decided"),
    ],
)
def test_the_papers_p_needs_ten_pairs_that_agree(seeds, contradicts, verdict):
    plan = Plan("full", None, seeds, FULL.workdir)
    found = judged(world(contradicts, plan, ("fig4", "fig5")))
    assert len(OF_P) == 7
    for name in OF_P:
        assert (found[name].verdict, found[name].n) == (verdict, seeds)
        assert found[without_p(name)].verdict == "holds"


def test_the_pair_with_the_papers_schedule_is_not_compared_with_the_rest():
    plan = Plan("short", None, 5, FULL.workdir)
    found = judged({"fig4": view("fig4", plan)})
    of = [name for name in DECIDED if EXPERIMENT[name] == "fig4"]
    assert {found[name].n for name in of} == {5}


def written(output, **how):
    """Returns the findings from files with rows."""
    for name in TRAINED:
        write(name, output, **how)
    return judged({name: views.view(name, output) for name in TRAINED})


def test_runs_that_diverged_are_in_no_pair(tmp_path):
    """But in figure 3 they have the highest error: here both runs of a pair."""
    found = written(tmp_path, plan=FIVE, diverged={(unit, 3) for unit in UNITS})
    for name in DECIDED:
        n = 5 if name.startswith("autoencoder-t") else 4
        assert (found[name].n, found[name].verdict) == (n, "not decided"), name


@pytest.mark.parametrize(
    ("diverging", "contradicts", "verdict"),
    [("elu", never, "does not hold"), ("relu", always, "holds")],
)
def test_autoencoders_that_diverge_are_the_worst(
    tmp_path, diverging, contradicts, verdict
):
    diverged = {(diverging, seed) for seed in range(5)}
    write("fig3", tmp_path, FIVE, contradicts, diverged)
    found = judged({"fig3": views.view("fig3", tmp_path)})
    names = [n for n in CLAIMS if re.fullmatch("autoencoder-t.*-than-relu", n)]
    assert len(names) == 8
    for name in names:
        assert (found[name].n, found[name].verdict) == (5, verdict), name


@pytest.mark.parametrize(("error", "n"), [("98.4", 5), ("99", 0)])
def test_runs_at_chance_are_in_no_pair(error, n):
    seen = view("fig4", FIVE)
    set_errors(seen.rows, "shifted_relu", range(5), error)
    found = judged({"fig4": seen})
    for measure in "test-error", "training-loss":
        finding = found[f"cifar100-{measure}-below-shifted_relu"]
        assert (finding.n, finding.verdict) == (n, "holds" if n else "not decided")
        assert found[f"cifar100-{measure}-below-relu"].n == 5
    assert found["cifar100-shifted_relu-below-leaky_relu"].n == n


def timed(ratio, low, high, case="elu_cifar_11, batch of 100", form="elu"):
    row = {"case": case, "form": form, "rounds": "15"}
    return row | {"ratio": str(ratio), "ratio_low": str(low), "ratio_high": str(high)}


NORMALISED = "relu, batch norm"


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([timed(1.02, 1.01, 1.0583)], (15, "holds")),
        ([timed(1.05, 1.01, 1.06)], (15, "not decided")),
        ([timed(1.1, 1.0583, 1.2)], (15, "not decided")),
        ([timed(1.1, 1.06, 1.2)], (15, "does not hold")),
        ([timed(0.9, 0.8, 0.95, form=NORMALISED)], (0, "not decided")),
        ([timed(0.9, 0.8, 0.95, case="mnist_mlp_8x128, batch")], (0, "not decided")),
    ],
)
def test_the_cost_of_elu(rows, expected):
    found = judged({"timing": View("short", rows)})["elu-costs-5-percent"]
    assert (found.n, found.verdict) == expected


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        ([timed(1.1, 1.0, 1.2), timed(1.5, 1.3, 1.6, form=NORMALISED)], (15, "holds")),
        ([timed(1.1, 1.0, 1.2), timed(1.5, 1.1, 1.6, form=NORMALISED)],
         (15, "not decided")),
        ([timed(1.5, 1.3, 1.6), timed(1.1, 1.0, 1.2, form=NORMALISED)],
         (15, "does not hold")),
        ([timed(1.1, 1.0, 1.2)], (0, "not decided")),
        ([timed(1.1, 1.0, 1.2, form=NORMALISED)], (0, "not decided")),
    ],
)  # fmt: skip
def test_the_cost_of_elu_and_of_batch_norm(rows, expected):
    found = judged({"timing": View("short", rows)})["elu-costs-less-than-batch-norm"]
    assert (found.n, found.verdict) == expected


@pytest.mark.parametrize(
    ("distances", "verdict"),
    [((1e-15, 9e-10), "holds"), ((1e-15, 2e-9), "does not hold")],
)
def test_theorems(distances, verdict):
    rows = [
        {"statement": f"Lemma 2, {i} part", "draw": str(draw), "distance": str(x)}
        for draw in range(3)
        for i, x in enumerate(distances)
    ]
    found = judged({"theorems": View("full", rows)})
    lemma = found["theory-lemma-2"]
    assert (lemma.n, lemma.effect, lemma.verdict) == (3, distances[1], verdict)
    assert found["theory-lemma-1"] == Finding()


@pytest.mark.parametrize(("section", "words", "names"), PAPER)
def test_what_the_paper_says_has_a_row(section, words, names):
    found = [c for n, c in CLAIMS.items() if re.fullmatch(names, n) and not c.ours]
    assert found, words
    assert any(section in claim.section.split(", ") for claim in found), words


def test_what_the_paper_does_not_say_is_ours():
    of_paper = [names for _, _, names in PAPER]
    for name, claim in CLAIMS.items():
        said = any(re.fullmatch(names, name) for names in of_paper)
        assert said != claim.ours, name


def test_nothing_was_run():
    for found in judged({}).values():
        assert (found.n, found.verdict) == (0, "not decided")


def test_the_committed_file_is_made_from_the_committed_rows(tmp_path):
    seen = {name: views.view(name, COMMITTED) for name in EXPERIMENTS}
    table = claims.table({name: each for name, each in seen.items() if each})
    claims.write(tmp_path / "claims.csv", table)
    made = results.read_file(tmp_path / "claims.csv")
    committed = results.read_file(COMMITTED / "claims.csv")
    for row, expected in zip(made, committed, strict=True):
        for number in "effect", "low", "high", "p":
            one, other = (float(each.pop(number) or "nan") for each in (row, expected))
            assert one == pytest.approx(other, rel=1e-3, nan_ok=True), row["id"]
        assert row == expected


def test_the_file(tmp_path):
    claims.write(tmp_path / "claims.csv", claims.table({"fig2": view("fig2", FIVE)}))
    rows = results.read_file(tmp_path / "claims.csv")
    assert [row["id"] for row in rows] == list(CLAIMS)
    assert len({row["claim"] for row in rows}) == len(rows)
    claim = CLAIMS["mnist-learns-faster-than-relu"]
    first = rows[0]
    for number in "effect", "low", "high":
        assert float(first.pop(number)) < 0
    assert first == {
        "id": claim.name,
        "whose": "the paper's",
        "section": "abstract, 4.1.1",
        "claim": claim.text,
        "experiment": "fig2",
        "budget": "full",
        "measure": "training loss in epoch 5, ELU - ReLU",
        "n": "5",
        "p": "0.03125",
        "verdict": "holds",
    }
    for row in rows:
        if row["experiment"] != "fig2":
            assert (row["n"], row["verdict"], row["budget"]) == ("0", "not decided", "")
            assert {row[key] for key in ("effect", "low", "high", "p")} == {""}
