"""Transcript of what the package says about wrong inputs: class, exit code, seconds.

Run it after a change of error messages, and read the difference from transcript.txt, its
last output: no remedy may be lost. Paths depend on the machine.

    python tests/bad_inputs/transcript.py > new.txt

Seconds are in the last column of a row, to stderr, because they differ in each run.
Rows of Python calls have `class: message`, rows of commands `exit code: last line`.
"""

import json
import os
import re
import shlex
import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np

CALLS = """
get_model('elu_cifar11')
get_model('vgg16')
get_model(3)
get_model(None)
get_model('elu_cifar_11', 'elu')
get_model('elu_cifar_11', activation='rleu')
get_model('elu_cifar_11', activation=3)
get_model('elu_cifar_11', activation='softmax')
get_model('elu_cifar_11', activation={'name': 'elu', 'alhpa': 2})
get_model('elu_cifar_11', activation={'name': 'elu', 'alpha': -1})
get_model('elu_cifar_11', activation=lambda: 3)
get_model('elu_cifar_11', weights='cifar1000')
get_model('elu_cifar_11', weights='imagenet')
get_model('elu_cifar_11', weights='elu_cifar_11.cifar100_elu-12345678')
get_model('elu_cifar_11', weights='missing.weights.h5')
get_model('elu_cifar_11', weights='text.weights.h5')
get_model('elu_cifar_11', weights='empty.weights.h5')
get_model('elu_cifar_11', weights='own.weights.h5')
get_model('elu_cifar_11', weights='own.keras')
get_model('elu_cifar_11', weights='folder')
get_model('elu_cifar_11', weights='hf:nobody')
get_model('elu_cifar_11', weights=True)
get_model('elu_cifar_11', weights='cifar100', width=0.5)
get_model('elu_cifar_11', weights='cifar100', batch_norm=True)
get_model('elu_cifar_11', weights='cifar100', activation='tanh')
get_model('elu_cifar_11', weights='cifar100', input_shape=(64, 64, 3))
get_model('elu_cifar_11', weights='cifar100', padding='valid')
get_model('elu_cifar_11', num_classes=0)
get_model('elu_cifar_11', num_classes='10')
get_model('elu_cifar_11', input_shape=(32, 32))
get_model('elu_cifar_11', input_shape=(4, 4, 3))
get_model('elu_cifar_11', input_shape=(3, 32, 32))
get_model('elu_cifar_11', width=0)
get_model('elu_cifar_11', dropout=2.0)
get_model('elu_cifar_11', sede=3)
get_model('elu_cifar_11', seed=-1)
get_model('elu_cifar_11', features='stack9')
get_model('elu_cifar_11', pooling='avg')
get_model('elu_cifar_11', include_top=False, pooling='mean')
get_model('elu_cifar_11', classifier_activation='softmaxx')
get_model('elu_cifar_11', model_name='a/b')
get_model('elu_cifar_11', pretrained=True)
get_model('elu_cifar_11', weight='cifar100')
get_model('mnist_mlp_8x128', input_shape=(32, 32, 3), weights='mnist')
get_model('elu_imagenet_15', weights='imagenet')
get_model('fmp', weights='cifar100')
list_models('resnet*')
list_models(pretrained=True)
model_info('elu_cifar')
model_card('elu_cifar_11')
model_card('cifar100')
list_weights('resnet')
fetch_weights('resnet*')
load_image('missing.png', 'elu_cifar_11')
load_image('text.png', 'elu_cifar_11')
load_image('empty.png', 'elu_cifar_11')
load_image('folder', 'elu_cifar_11')
load_image('https://example.com/a.png', 'elu_cifar_11')
load_image(np.zeros((4, 4)), 'elu_cifar_11')
load_image('good.png')
load_image('good.png', 'vgg16')
preprocess_input(np.zeros((2, 8, 8, 3)), 'elu_cifar_11')
preprocess_input(np.zeros((32, 32, 3)), 'elu_cifar_11')
preprocess_input('good.png', 'elu_cifar_11')
decode_predictions(np.zeros((1, 7)), 'elu_cifar_11', 'cifar100')
decode_predictions(np.zeros(100), 'elu_cifar_11', 'cifar100')
decode_predictions(np.zeros((1, 100)), 'elu_cifar_11', 'cifar100', top=0)
decode_predictions(np.full((1, 100), np.nan), 'elu_cifar_11', 'cifar100')
ELU(alpha=0)
ELU(alpha='1')
ELU(aplha=1)
elu('x')
elu(np.arange(3))
elu(np.ones(3, 'float32'), alpha=-1)
elu_xla(np.ones(3, 'float32'), alpha=0)
register_model(3)
register_activation('isrlu')
training.train({}, 'run')
training.train(config(), 3)
training.train(config(epohcs=3), 'run')
"""
SMOKE = "--config=quickstart:smoke=True"
COMMANDS = f"""
train
train --config=quikstart
train --config=missing.py
train --config=text.py
train --config=quickstart:activaton=relu
train --config=quickstart:activation=rleu
train --config=quickstart:seed=x
train --config=quickstart:seed=-1
train {SMOKE} --config.trian.epochs=2
train {SMOKE} --config.train.epoch=2
train {SMOKE} --config.train.epochs=0
train {SMOKE} --config.train.epochs=two
train {SMOKE} --config.train.batch_size=100000
train {SMOKE} --config.train.learning_rates=(-1,)
train {SMOKE} --config.train.momentum=1.5
train {SMOKE} --config.model.name=vgg16
train {SMOKE} --config.model.width=0
train {SMOKE} --config.name=../a
train {SMOKE} --data=missing
train {SMOKE} --data=cifar1000
train {SMOKE} --data=text.npz
train {SMOKE} --data=folder
train {SMOKE} --data=one_class
train {SMOKE} --data_dir=missing --config.data.name=mnist
train {SMOKE} --strategy=mirored
train {SMOKE} --strategy=mirrored --num_devices=3
train {SMOKE} --num_devices=0
train {SMOKE} --steps_per_call=0
train {SMOKE} --checkpoint_seconds=-1
train {SMOKE} --workdir=text.png
train {SMOKE} --module=missing.py
train {SMOKE} --workdri=run
train {SMOKE} surplus
train --config=finetune:model=elu_cifar_11,weights=cifar1000 --data=one_class
train --config=finetune:model=vgg16 --data=one_class
train --config=finetune:freeze=stack9 --data=one_class
evaluate
evaluate --model=elu_cifar_11
evaluate --model=elu_cifar_11 --weights=cifar100 --data=mnist
evaluate --model=elu_cifar_11 --weights=cifar100 --data=folder
evaluate --model=elu_cifar_11 --weights=own.weights.h5
evaluate --model=mnist_mlp_8x128 --weights=mnist --data=mnist --split=tets
predict
predict good.png
predict --model=mnist_mlp_8x128 good.png
predict --model=mnist_mlp_8x128 --weights=mnist missing.png
predict --model=mnist_mlp_8x128 --weights=mnist text.png
predict --model=mnist_mlp_8x128 --weights=mnist folder
predict --model=mnist_mlp_8x128 --weights=mnist --top=0 good.png
predict --saved_model=missing good.png
predict --saved_model=folder good.png
export --model=mnist_mlp_8x128
export --model=mnist_mlp_8x128 --weights=mnist
export --model=mnist_mlp_8x128 --weights=mnist --export_dir=text.png
export --model=mnist_mlp_8x128 --weights=mnist --export_dir=out --name=a/b
export --model=mnist_mlp_8x128 --weights=mnist --export_dir=out --version=0
export --model=mnist_mlp_8x128 --weights=mnist --export_dir=out --format=onnxx
export --model=mnist_mlp_8x128 --weights=mnist --export_dir=out --quantize=int4
serve
serve --model_base_path=missing
serve --model_base_path=folder
serve --model_base_path=out --port=99999
compare
compare --config=quickstart --activations=elu
compare --config=quickstart --activations=elu,rleu
compare --config=quickstart --activations=elu,relu --seeds=0
compare --config=quickstart --activations=elu,elu
reproduce fig99
reproduce fig2 --budget=smok
reproduce fig2 --seeds=0
benchmark --parts=ops
benchmark --models=vgg16
"""


def config(**fields):
    """Returns the config of a short run with other fields of `train`."""
    from elu_zoo.configs import quickstart

    result = quickstart.get_config("smoke=True")
    with result.unlocked():
        result.train.update(fields)
    return result


def write_files():
    """Writes the files that the inputs name into the working folder."""
    import keras

    import elu_zoo

    for name in ("text.weights.h5", "text.png", "text.npz", "text.py"):
        Path(name).write_text("no file of this kind")
    for name in ("empty.weights.h5", "empty.png"):
        Path(name).touch()
    Path("folder").mkdir()
    Path("folder/notes.txt").write_text("text")
    picture = np.random.default_rng(0).integers(0, 255, (32, 32, 3), np.uint8)
    for name in ("good.png", "one_class/a/1.png", "one_class/a/2.png"):
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        keras.utils.save_img(name, picture, scale=False)
    model = elu_zoo.get_model("elu_cifar_11", width=0.1)
    model.save_weights("own.weights.h5")
    model.save("own.keras")


def call(text):
    """Returns the outcome of a Python call, in one line."""
    import elu_zoo

    names = {name: getattr(elu_zoo, name) for name in elu_zoo.__all__}
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            result = eval(text, {**names, "np": np, "config": config})
    except BaseException as error:
        return f"{type(error).__name__}: {error}"
    notes = "".join(f" ({type(w.message).__name__}: {w.message})" for w in caught)
    return f"accepted: {type(result).__name__}{notes}"


def command(text):
    """Returns the exit code and the last line of a command."""
    name, *arguments = shlex.split(text, posix=False)
    program = Path(sys.executable).parent / f"elu-zoo-{name}"
    result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=300)
    lines = (result.stdout + result.stderr).strip().splitlines()
    trace = " TRACEBACK" if "Traceback" in result.stderr else ""
    return f"{result.returncode}:{trace} {lines[-1] if lines else ''}"


def main():
    os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        write_files()
        rows = [(call, text) for text in CALLS.strip().splitlines()]
        rows += [(command, text) for text in COMMANDS.strip().splitlines()]
        for run, text in rows:
            start = time.monotonic()
            outcome = re.sub(r"\s+", " ", run(text)).replace(folder, ".")
            outcome = re.sub(r"0x[0-9a-f]+", "0x", outcome)  # addresses of objects
            # A new field of configs changes no row.
            outcome = re.sub(r"(config entry .* Known: ).*", r"\1...", outcome)
            seconds = time.monotonic() - start
            print(json.dumps([text, outcome], ensure_ascii=False), flush=True)
            print(f"{seconds:6.1f} {text}", file=sys.stderr, flush=True)
        os.chdir("/")


if __name__ == "__main__":
    main()
