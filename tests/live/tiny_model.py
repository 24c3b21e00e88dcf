"""Writes a tiny Llama model with random weights to a GGUF file, which a server can load and sample from.

usage: tiny_model.py FILE
"""

import sys

import gguf
import numpy

LAYERS, HEADS, WIDTH, INNER, CONTEXT = 2, 4, 64, 128, 32768
SEED = 7

# A SentencePiece tokenizer: three special tokens, then one token per byte, then the printable characters.
SPECIAL = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
CHARACTERS = ["\u2581"] + [chr(code) for code in range(33, 127)]
VOCABULARY = SPECIAL + BYTES + CHARACTERS

# The first component of every state is large and positive, so the first column of the output weights determines how
# likely a token is, regardless of the tokens before it.
CONSTANT = 2.0
LIKELY, NEVER = 0.3, -4.0


def likelihood(token: str) -> float:
    """Makes strings short, and excludes raw bytes, which the server's JSON grammar permits."""
    if token in BYTES:
        return NEVER
    return LIKELY if token in ('"', "</s>") else 0.0


def tokens(writer: gguf.GGUFWriter) -> None:
    kinds = gguf.TokenType
    writer.add_tokenizer_model("llama")
    writer.add_token_list(VOCABULARY)
    writer.add_token_scores([0.0] * (len(SPECIAL) + len(BYTES)) + [-1.0] * len(CHARACTERS))
    writer.add_token_types(
        [kinds.UNKNOWN, kinds.CONTROL, kinds.CONTROL]
        + [kinds.BYTE] * len(BYTES)
        + [kinds.NORMAL] * len(CHARACTERS)
    )
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template(
        "{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant: "
    )


def weights(writer: gguf.GGUFWriter) -> None:
    random = numpy.random.default_rng(SEED)

    def matrix(name: str, *shape: int, first: float | list[float] | None = None) -> None:
        values = (random.standard_normal(shape) * 0.05).astype(numpy.float32)
        if first is not None:
            values[:, 0] = first
        writer.add_tensor(name, values)

    def ones(name: str) -> None:
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    matrix("token_embd.weight", len(VOCABULARY), WIDTH, first=CONSTANT)
    for layer in range(LAYERS):
        block = f"blk.{layer}"
        ones(f"{block}.attn_norm.weight")
        for part in ("attn_q", "attn_k", "attn_v", "attn_output"):
            matrix(f"{block}.{part}.weight", WIDTH, WIDTH)
        ones(f"{block}.ffn_norm.weight")
        matrix(f"{block}.ffn_gate.weight", INNER, WIDTH)
        matrix(f"{block}.ffn_up.weight", INNER, WIDTH)
        matrix(f"{block}.ffn_down.weight", WIDTH, INNER)
    ones("output_norm.weight")
    matrix("output.weight", len(VOCABULARY), WIDTH, first=[likelihood(token) for token in VOCABULARY])


def main(path: str) -> None:
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(CONTEXT)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(LAYERS)
    writer.add_feed_forward_length(INNER)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(VOCABULARY))
    tokens(writer)
    weights(writer)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


if __name__ == "__main__":
    main(*sys.argv[1:])
