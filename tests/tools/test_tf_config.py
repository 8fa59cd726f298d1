"""TF_CONFIG that the files of tools/cluster set: script, Kubernetes and SLURM."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from elu_zoo.bin import config
from elu_zoo.training.workers import cluster

CLUSTER = Path(__file__).parents[2] / "tools/cluster"
SCRIPT = CLUSTER / "tf_config.sh"
README = (CLUSTER / "README.md").read_text()
CLAIM, JOBSET = yaml.safe_load_all((CLUSTER / "train-jobset.yaml").read_text())
(REPLICATED,) = JOBSET["spec"]["replicatedJobs"]
JOB = REPLICATED["template"]["spec"]
POD = JOB["template"]["spec"]
(CONTAINER,) = POD["containers"]
(SBATCH,) = re.findall(r"^```sh\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)
(VERTEX,) = re.findall(r"^```yaml\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)

# Prints TF_CONFIG and the command, one line per machine.
TRAIN = """#!/bin/sh
printf '%s' "$TF_CONFIG"
printf '\\t%s' elu-zoo-train "$@"
echo
exit ${CODE:-0}
"""
SRUN = """#!/bin/sh
[ "$1" = --wait=60 ] && shift
for SLURM_NODEID in 0 1; do
  SLURM_STEP_NODELIST='gpu[07,11]' SLURM_NODEID=$SLURM_NODEID "$@"
done
"""
SCONTROL = """#!/bin/sh
case "$*" in
  'show hostnames gpu[07,11]') printf 'gpu07\\ngpu11\\n' ;;
  *) echo "scontrol $*" ;;
esac
"""


@pytest.fixture
def stand_ins(tmp_path):
    """An environment whose PATH begins with substitutes for the cluster's commands."""
    commands = {"elu-zoo-train": TRAIN, "srun": SRUN, "scontrol": SCONTROL}
    for name, text in commands.items():
        (tmp_path / name).write_text(text)
        (tmp_path / name).chmod(0o755)
    return {"PATH": f"{tmp_path}{os.pathsep}{os.environ['PATH']}"}


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, **options)


def parse(line):
    """Splits an output line of TRAIN into TF_CONFIG and the command."""
    text, *command = line.split("\t")
    return text, command


def train_commands(stand_ins):
    """Returns the training commands for JobSet, SLURM and Vertex AI."""
    commands = [parse(in_pod(stand_ins, 0, 2))[1]]
    done = run("sh", "-c", SBATCH, env=stand_ins, cwd=CLUSTER.parents[1])
    commands += [parse(line)[1] for line in done.stdout.splitlines()]
    for pool in yaml.safe_load(VERTEX)["workerPoolSpecs"]:
        container = pool["containerSpec"]
        commands.append([*container["command"], *container["args"]])
    return commands


def in_pod(stand_ins, index, machines):
    """Returns the output of a container, in a pod with the labels of JobSet."""
    labels = {
        "jobset-name": JOBSET["metadata"]["name"],
        "replicatedjob-name": REPLICATED["name"],
        "replicatedjob-replicas": str(machines),
        "job-index": str(index),
    }
    environment = dict(stand_ins)
    for variable in CONTAINER["env"]:
        value = variable.get("value")
        if value is None:
            path = variable["valueFrom"]["fieldRef"]["fieldPath"]
            (label,) = re.fullmatch(
                r"metadata\.labels\['jobset\.sigs\.k8s\.io/(.*)'\]", path
            ).groups()
            value = labels[label]
        environment[variable["name"]] = value
    done = run(*CONTAINER["command"], *CONTAINER["args"], env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    return done.stdout.rstrip("\n")


@pytest.mark.parametrize(
    "hosts", [["a:1"], ["a:1", "b-2.c_d:2222", "10.0.0.7:80"], ["[::1]:22", "[fe80::2]:22"]]
)
def test_the_script_prints_tf_config(hosts, monkeypatch):
    for index in range(len(hosts)):
        done = run("sh", SCRIPT, str(index), *hosts)
        assert (done.returncode, done.stderr) == (0, "")
        assert json.loads(done.stdout) == {
            "cluster": {"worker": hosts},
            "task": {"type": "worker", "index": index},
        }
        monkeypatch.setenv("TF_CONFIG", done.stdout)
        assert cluster.machine_index() == (index, len(hosts))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "INDEX must be an integer >= 0. Received: ''"),
        (["01", "a:1", "b:1"], "Received: '01'"),
        (["9" * 30, "a:1"], "INDEX must be an integer"),
        (["0"], "HOST:PORT is missing"),
        (["2", "a:1", "b:1"], "less than the number of hosts, 2. Received: 2"),
        (["0", "a"], "'a' is not HOST:PORT"),
        (["0", ":1"], "':1' is not HOST:PORT"),
        (["0", "a:b1"], "'a:b1' is not HOST:PORT"),
        (["0", 'a":1'], "is not HOST:PORT"),
        (["0", "a b:1"], "'a b:1' is not HOST:PORT"),
    ],
)
def test_the_script_refuses_wrong_arguments(arguments, message):
    done = run("sh", SCRIPT, *arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert message in done.stderr and done.stderr.count("\n") == 1
    assert done.stderr.startswith("error: ") and "Usage: tf_config.sh" in done.stderr


@pytest.mark.parametrize("machines", [1, 2, 11])
def test_pods_name_each_other_as_jobset_does(machines, stand_ins, monkeypatch):
    """Hosts are <jobset>-<replicated job>-<index of job>-<index of pod>.<jobset>."""
    (port,) = (each["containerPort"] for each in CONTAINER["ports"])
    name = f"{JOBSET['metadata']['name']}-{REPLICATED['name']}"
    subdomain = JOBSET["metadata"]["name"]
    hosts = [f"{name}-{i}-0.{subdomain}:{port}" for i in range(machines)]
    for index in range(machines):
        text, _ = parse(in_pod(stand_ins, index, machines))
        assert text + "\n" == run("sh", SCRIPT, str(index), *hosts).stdout
        monkeypatch.setenv("TF_CONFIG", text)
        assert cluster.machine_index() == (index, machines)


def test_a_pod_is_a_machine_on_the_shared_folder(stand_ins):
    """Host names end in the index of the pod, 0, so that each job must have one pod."""
    network = JOBSET["spec"]["network"]
    assert network["enableDNSHostnames"] and "subdomain" not in network
    assert (JOB["parallelism"], JOB["completions"]) == (1, 1)
    assert JOB["completionMode"] == "Indexed" and POD["restartPolicy"] == "Never"
    (mount,) = CONTAINER["volumeMounts"]
    (volume,) = POD["volumes"]
    claims = volume["persistentVolumeClaim"]["claimName"], CLAIM["metadata"]["name"]
    assert mount["name"] == volume["name"] and claims[0] == claims[1]
    (data,) = (v["value"] for v in CONTAINER["env"] if v["name"] == "TFDS_DATA_DIR")
    _, command = parse(in_pod(stand_ins, 0, 1))
    (workdir,) = (w.partition("=")[2] for w in command if w.startswith("--workdir="))
    assert all(path.startswith(f"{mount['mountPath']}/") for path in (data, workdir))


@pytest.mark.parametrize("code", [0, 1, 143])
def test_the_slurm_script_requeues_resumable_runs(code, stand_ins, monkeypatch):
    environment = {**stand_ins, "CODE": str(code), "SLURM_JOB_ID": "17"}
    done = run("sh", "-c", SBATCH, env=environment, cwd=CLUSTER.parents[1])
    assert (done.returncode, done.stderr) == (code, "")
    *machines, last = [*done.stdout.splitlines(), ""][:3]
    assert last == ("scontrol requeue 17" if code == 143 else "")
    for index, line in enumerate(machines):
        text, _ = parse(line)
        monkeypatch.setenv("TF_CONFIG", text)
        assert cluster.machine_index() == (index, 2)
        assert json.loads(text)["cluster"]["worker"] == ["gpu07:2222", "gpu11:2222"]


def test_flags_and_configs_exist(stand_ins):
    shown = run(sys.executable, "-m", "elu_zoo.bin.train", "-h", check=True).stdout
    commands = train_commands(stand_ins)
    assert len(commands) == 5
    for command in commands:
        assert command[0] == "elu-zoo-train"
        assert "--strategy=multi_worker" in command
        config.resolve_flag(command)  # raises for an unknown config, argument or entry
        for word in command[1:]:
            assert f"  {word.partition('=')[0]}\n" in shown
