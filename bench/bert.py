"""Runs a sentence model of the BERT family in onnxruntime. The graph is built here from the weights, so that only the
folder of the model is shared with the product.

`bert.py FOLDER` reads lines of JSON, each a list of texts, and answers each with a line of JSON. `together` and
`apart` are the seconds for embedding the texts with all cores on one batch, and with one batch per core. `vectors`
are unit vectors in the order of the texts.

`bert.py FOLDER --lines < TEXTS` writes a line of JSON for each line of text instead; it has written
`poc-memory/crates/embed/src/bert/reference.jsonl`. `just bench` installs the libraries.
"""

import json
import os
import struct
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy
import onnxruntime
from onnx import TensorProto, helper, numpy_helper
from tokenizers import Tokenizer

# Texts per batch, as in the product.
BATCH = 8


def tensors(path):
    """The tensors of a safetensors file by name, as 32-bit floats. Tensors of other types are left out."""
    data = path.read_bytes()
    (length,) = struct.unpack_from("<Q", data)
    kinds = {"F32": "<f4", "F16": "<f2", "F64": "<f8"}
    found = {}
    for name, said in json.loads(data[8 : 8 + length]).items():
        if name != "__metadata__" and said["dtype"] in kinds:
            start, end = (8 + length + offset for offset in said["data_offsets"])
            values = numpy.frombuffer(data[start:end], kinds[said["dtype"]])
            found[name.removeprefix("bert.")] = values.reshape(said["shape"]).astype(numpy.float32)
    return found


class Graph:
    """Collects ONNX nodes. Their names are numbers."""

    def __init__(self, weights):
        self.weights, self.nodes, self.constants = weights, [], {}

    def op(self, kind, *inputs, **attributes):
        name = f"{kind}{len(self.nodes)}"
        self.nodes.append(helper.make_node(kind, list(inputs), [name], **attributes))
        return name

    def constant(self, name, values):
        self.constants.setdefault(name, numpy_helper.from_array(values, name))
        return name

    def weight(self, name, transpose=False):
        values = self.weights[name]
        return self.constant(name, numpy.ascontiguousarray(values.T) if transpose else values)

    def dense(self, name, states):
        product = self.op("MatMul", states, self.weight(f"{name}.weight", transpose=True))
        return self.op("Add", product, self.weight(f"{name}.bias"))

    def norm(self, name, states, epsilon):
        scale, shift = self.weight(f"{name}.weight"), self.weight(f"{name}.bias")
        return self.op("LayerNormalization", states, scale, shift, axis=-1, epsilon=epsilon)


def network(folder, threads):
    """The encoder as an ONNX model with this many threads: tokens and mask in, last hidden states out (Devlin et al.
    2019)."""
    config = json.loads((folder / "config.json").read_text())
    if config.get("hidden_act", "gelu") != "gelu":
        sys.exit(f"the activation {config['hidden_act']} is not known here")
    graph, epsilon = Graph(tensors(folder / "model.safetensors")), config.get("layer_norm_eps", 1e-12)
    width, heads = config["hidden_size"], config["num_attention_heads"]
    numbers = lambda name, *values: graph.constant(name, numpy.array(values, numpy.int64))

    shape = graph.op("Shape", "tokens")
    length = graph.op("Gather", shape, graph.constant("1", numpy.array(1, numpy.int64)))
    places = graph.op("Range", graph.constant("0", numpy.array(0, numpy.int64)), length, "1")
    states = graph.op("Gather", graph.weight("embeddings.word_embeddings.weight"), "tokens")
    position = graph.op("Gather", graph.weight("embeddings.position_embeddings.weight"), places)
    kind = graph.constant("kind", graph.weights["embeddings.token_type_embeddings.weight"][0])
    states = graph.op("Add", graph.op("Add", states, position), kind)
    states = graph.norm("embeddings.LayerNorm", states, epsilon)
    # 0 for tokens, a large negative number for padding.
    mask = graph.op("Unsqueeze", "mask", numbers("axes", 1, 2))
    mask = graph.op("Mul", graph.op("Sub", graph.constant("one", numpy.float32([1])), mask),
                    graph.constant("far", numpy.float32([-1e9])))
    split = numbers("split", 0, 0, heads, width // heads)
    for layer in range(config["num_hidden_layers"]):
        name = f"encoder.layer.{layer}"

        def part(of, order):
            values = graph.op("Reshape", graph.dense(f"{name}.attention.self.{of}", states), split)
            return graph.op("Transpose", values, perm=order)

        query, key, value = part("query", [0, 2, 1, 3]), part("key", [0, 2, 3, 1]), part("value", [0, 2, 1, 3])
        root = graph.constant("root", numpy.float32([(width // heads) ** 0.5]))
        weights = graph.op("Add", graph.op("Div", graph.op("MatMul", query, key), root), mask)
        context = graph.op("MatMul", graph.op("Softmax", weights, axis=-1), value)
        context = graph.op("Transpose", context, perm=[0, 2, 1, 3])
        context = graph.op("Reshape", context, numbers("join", 0, 0, width))
        attended = graph.op("Add", graph.dense(f"{name}.attention.output.dense", context), states)
        attended = graph.norm(f"{name}.attention.output.LayerNorm", attended, epsilon)
        inner = graph.op("Gelu", graph.dense(f"{name}.intermediate.dense", attended))
        states = graph.op("Add", graph.dense(f"{name}.output.dense", inner), attended)
        states = graph.norm(f"{name}.output.LayerNorm", states, epsilon)
    graph.nodes[-1].output[0] = "states"
    inputs = [
        helper.make_tensor_value_info("tokens", TensorProto.INT64, ["texts", "length"]),
        helper.make_tensor_value_info("mask", TensorProto.FLOAT, ["texts", "length"]),
    ]
    outputs = [helper.make_tensor_value_info("states", TensorProto.FLOAT, ["texts", "length", width])]
    made = helper.make_graph(graph.nodes, "bert", inputs, outputs, list(graph.constants.values()))
    model = helper.make_model(made, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


class Embedder:
    """Mean pooling and unit length, as sentence-transformers has it. So many batches at once, each by so many
    threads."""

    def __init__(self, folder, batches=1, threads=1):
        self.session, self.pool = network(folder, threads), ThreadPoolExecutor(batches)
        self.tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
        said = folder / "sentence_bert_config.json"
        longest = json.loads(said.read_text())["max_seq_length"] if said.exists() else 256
        self.tokenizer.no_padding()
        self.tokenizer.enable_truncation(longest)

    def embed(self, texts):
        tokens = [encoding.ids for encoding in self.tokenizer.encode_batch(texts)]
        order = sorted(range(len(texts)), key=lambda at: -len(tokens[at]))
        batches = [order[start : start + BATCH] for start in range(0, len(order), BATCH)]
        made = self.pool.map(lambda batch: self.units([tokens[at] for at in batch]), batches)
        vectors = [None] * len(texts)
        for batch, units in zip(batches, made):
            for at, vector in zip(batch, units):
                vectors[at] = vector
        return vectors

    def units(self, tokens):
        """The vectors of a batch, the longest text first."""
        ids = numpy.zeros((len(tokens), len(tokens[0])), numpy.int64)
        mask = numpy.zeros(ids.shape, numpy.float32)
        for row, text in enumerate(tokens):
            ids[row, : len(text)] = text
            mask[row, : len(text)] = 1.0
        (states,) = self.session.run(["states"], {"tokens": ids, "mask": mask})
        sums = (states * mask[:, :, None]).sum(axis=1)
        return sums / numpy.linalg.norm(sums, axis=1, keepdims=True)


def rounded(vector):
    return [round(float(value), 6) for value in vector]


def main():
    folder = Path(sys.argv[1])
    if "--lines" in sys.argv:
        embedder = Embedder(folder)
        for text in sys.stdin.read().splitlines():
            print(json.dumps({"text": text, "vector": rounded(embedder.embed([text])[0])}, ensure_ascii=False))
        return
    cores = len(os.sched_getaffinity(0))
    ways = {"together": Embedder(folder, threads=cores), "apart": Embedder(folder, batches=cores)}
    for line in sys.stdin:
        texts, answer = json.loads(line), {}
        for way, embedder in ways.items():
            started = time.perf_counter()
            vectors = embedder.embed(texts)
            answer[way] = time.perf_counter() - started
        answer["vectors"] = [rounded(vector) for vector in vectors]
        print(json.dumps(answer), flush=True)


main()
