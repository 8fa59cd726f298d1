"""Commands, flags, configs, Python names and links of the front page and the guides."""

import ast
import re
import shlex
import subprocess
import sys

import pytest
from readmes import FENCES, NAMES, ROOT, TEXTS, anchors, prose

import elu_zoo
from elu_zoo.bin import config

LINKED = "configs/results/results.md", "CONTRIBUTING.md", "tools/cluster/README.md"
INLINE = [t for text in TEXTS.values() for t in re.findall(r"`([^`\n]+)`", text)]


def commands() -> list[list[str]]:
    """Returns every elu-zoo command in code blocks and in the running text."""
    result = []
    shell = [text for kind, text in FENCES if kind in ("", "sh", "bash", "console")]
    for text in [*shell, *INLINE]:
        for line in text.replace("\\\n", " ").splitlines():
            words = shlex.split(line, comments=True)
            parts = " ".join(map(shlex.quote, words)).replace("'&&'", "\n")
            for part in map(shlex.split, re.split(r"\n|'\|'|';'", parts)):
                part = part[1:] if part[:1] == ["$"] else part  # a prompt
                if part and part[0].startswith("elu-zoo-"):
                    result.append(part)
    return result


@pytest.fixture(scope="module")
def helps():
    """The help text of each command."""
    return {
        name: subprocess.check_output(
            [sys.executable, "-m", name.replace("elu-zoo-", "elu_zoo.bin."), "-h"], text=True
        )
        for name in {command[0] for command in commands()}
    }


@pytest.mark.parametrize("command", commands(), ids=" ".join)
def test_flags_and_configs_exist(command, helps):
    options = [word for word in command[1:] if word.startswith("-")]
    config_of = [word.partition("=")[2] for word in options if "--config=" in word]
    if config_of:
        config.resolve_flag(command)  # raises for an unknown config, argument or entry
    for option in options:
        name = option.lstrip("-").partition("=")[0]
        if not name.startswith("config."):
            lines = helps[command[0]].splitlines()
            assert any(line in (f"  --{name}", f"  --[no]{name}") for line in lines)


def test_flags_in_the_running_text_exist(helps):
    shown = "".join(helps.values())
    for word in " ".join(t for t in INLINE if t.startswith("--")).split():
        name = word.lstrip("-").partition("=")[0]
        if word.startswith("--") and not name.startswith("config."):
            assert f"  --{name}\n" in shown or f"  --[no]{name}\n" in shown, word


def test_python_compiles_and_uses_public_names():
    for node in (n for kind, t in FENCES if kind == "python" for n in ast.walk(ast.parse(t))):
        if isinstance(node, ast.Attribute) and ast.unparse(node.value) == "elu_zoo":
            assert node.attr in elu_zoo.__all__


@pytest.mark.parametrize("name", [*TEXTS, *LINKED])
def test_links_lead_to_files_and_headings(name):
    text = prose((ROOT / name).read_text())
    links = re.findall(r"\]\(([^)]+)\)|^\[[^\]]+\]: (\S+)", text, re.MULTILINE)
    for link in filter(None, sum(links, ())):
        if not re.match("https?:", link):
            target, _, heading = link.partition("#")
            path = (ROOT / name).parent / target if target else ROOT / name
            assert path.exists(), link
            assert not heading or heading in anchors(path.read_text()), link


def test_front_page_and_guides_exist_and_are_short():
    paths = [ROOT / "README.md"]
    paths += [p for f in ("elu_zoo", "configs") for p in (ROOT / f).rglob("README.md")]
    assert {path.relative_to(ROOT).as_posix() for path in paths} == set(NAMES)
    front, *guides = (len(TEXTS[name].splitlines()) for name in NAMES)
    assert front <= 250 and sum(guides) <= 650, (front, guides)
