"""The networks of `case.MODELS` in PyTorch, with our initial weights and updates."""

from collections.abc import Callable, Mapping

import numpy as np
import torch
from torch import nn
from torch.nn import functional

from elu_zoo.benchmark.case import Case
from elu_zoo.models.elu_cifar import STACKS_11


def network(name: str, weights: Mapping[str, np.ndarray], activation: str) -> nn.Sequential:
    """Returns one of `case.MODELS` for images `(batch, channels, height, width)`."""
    function = {"elu": nn.ELU, "relu": nn.ReLU}[activation]
    layers = list(dict.fromkeys(key.partition("/")[0] for key in weights))
    if name == "elu_cifar_11":
        modules = _convolutions(function)
    else:
        kernels = [weights[f"{layer}/kernel"] for layer in layers]
        linear = [nn.Linear(*kernel.shape) for kernel in kernels]
        modules = [nn.Flatten(), linear[0]]
        for previous, layer in zip(layers, linear[1:], strict=False):
            # The autoencoder's code is linear.
            modules += [layer] if previous == "code" else [function(), layer]
    net = nn.Sequential(*modules)
    trained = [m for m in net if isinstance(m, nn.Linear | nn.Conv2d)]
    with torch.no_grad():
        for layer, module in zip(layers, trained, strict=True):
            kernel = torch.from_numpy(np.array(weights[f"{layer}/kernel"]))
            axes = (3, 2, 0, 1) if kernel.ndim == 4 else (1, 0)
            module.weight.copy_(kernel.permute(axes))
            module.bias.copy_(torch.from_numpy(np.array(weights[f"{layer}/bias"])))
    return net


def _convolutions(function: type[nn.Module]) -> list[nn.Module]:
    modules, channels = [], 3
    for stack in STACKS_11:
        for _, units, field in stack:
            convolution = nn.Conv2d(channels, units, field, padding=field // 2)
            modules += [convolution, function()]
            channels = units
        modules.append(nn.MaxPool2d(2, ceil_mode=True))
    modules += [nn.Conv2d(channels, 100, 1), nn.AdaptiveAvgPool2d(1), nn.Flatten()]
    return modules


def trainer(
    case: Case, weights: Mapping[str, np.ndarray], bfloat16: bool, device: str
) -> Callable[[], list[float]]:
    """Returns a function that trains on all batches and returns their losses.

    Args:
        weights: initial weights by `layer/kernel` and `layer/bias`, in layer order.
        bfloat16: whether to use PyTorch's automatic mixed precision.
        device: PyTorch's name of the device; `torch.compile` serves all but the CPU.
    """
    data, batches = case.data()
    images, labels = data.images, None if case.is_autoencoder else data.labels
    net = network(case.model, weights, case.activation)
    layout = torch.channels_last if images.shape[-1] == 3 else torch.contiguous_format
    net = net.to(device, memory_format=layout)
    optimizer = torch.optim.SGD(net.parameters(), lr=case.rate, momentum=case.momentum)
    forward = net if device == "cpu" else torch.compile(net)
    x = torch.from_numpy(images).permute(0, 3, 1, 2).contiguous(memory_format=layout)
    x = x.to(device)
    y = None if labels is None else torch.from_numpy(labels).long().to(device)

    def loss_of(batch):
        with torch.autocast(device, torch.bfloat16, enabled=bfloat16):
            outputs = forward(x[batch])
        outputs = outputs.float()
        if y is not None:
            return functional.cross_entropy(outputs, y[batch])
        entropies = functional.binary_cross_entropy_with_logits(
            outputs, x[batch].flatten(1), reduction="none"
        )
        return entropies.sum(1).mean()

    indices = torch.from_numpy(batches).long().to(device)

    def call():
        losses = []
        for batch in indices:
            loss = loss_of(batch)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        return torch.stack(losses).tolist()

    return call
