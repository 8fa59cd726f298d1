"""Joins two LiteRT files into one file that runs them one after the other."""

from collections.abc import Callable
from typing import Any


def join(first: bytes, second: bytes) -> bytes:
    """Returns the LiteRT file of `second(first(images))`, each with one subgraph.

    The TensorFlow converter quantizes all constants of a file in the same way. Two
    joined files may differ in the quantization of their constants.
    """
    import flatbuffers
    from ai_edge_litert.schema_py_generated import ModelT

    model = ModelT.InitFromPackedBuf(first, 0)
    added = ModelT.InitFromPackedBuf(second, 0)
    (graph,), (added_graph,) = model.subgraphs, added.subgraphs
    (joint,) = graph.outputs
    (entry,) = added_graph.inputs
    shift = len(graph.tensors)

    # Index -1 marks an optional tensor that is absent.
    def moved(index: int) -> int:
        if index == entry:
            return joint
        return index + shift if index >= 0 else index

    for tensor in added_graph.tensors:
        tensor.buffer += len(model.buffers)
    for operator in added_graph.operators:
        operator.opcodeIndex += len(model.operatorCodes)
        _map_tensors(operator, ("inputs", "outputs", "intermediates"), moved)
    _map_tensors(added_graph, ("outputs",), moved)
    (signature,), (added_signature,) = model.signatureDefs, added.signatureDefs
    for output in added_signature.outputs:
        output.tensorIndex = moved(output.tensorIndex)
    signature.outputs = added_signature.outputs

    graph.outputs = added_graph.outputs
    graph.tensors += added_graph.tensors
    graph.operators += added_graph.operators
    model.operatorCodes += added.operatorCodes
    model.buffers += added.buffers
    # The metadata states the oldest runtime that can run `first` alone.
    model.metadata = model.metadataBuffer = None

    builder = flatbuffers.Builder(len(first) + len(second))
    builder.Finish(model.Pack(builder), file_identifier=b"TFL3")
    return bytes(builder.Output())


def _map_tensors(owner: Any, fields: tuple[str, ...], moved: Callable[[int], int]) -> None:
    for field in fields:
        indices = getattr(owner, field)
        if indices is not None:
            setattr(owner, field, [moved(int(index)) for index in indices])
