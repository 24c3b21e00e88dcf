"""Writes a tiny llama of random weights to a GGUF file: enough for a server to load and sample from.

usage: tiny_model.py FILE
"""

import sys

import gguf
import numpy

LAYERS, HEADS, WIDTH, INNER, CONTEXT = 2, 4, 64, 128, 4096
SEED = 7

# A tokenizer of the SentencePiece kind: three marks, then one token for every byte, then the
# printable characters.
SPECIAL = ["<unk>", "<s>", "</s>"]
BYTES = [f"<0x{byte:02X}>" for byte in range(256)]
CHARACTERS = ["\u2581"] + [chr(code) for code in range(33, 127)]
VOCABULARY = SPECIAL + BYTES + CHARACTERS


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

    def matrix(name: str, *shape: int) -> None:
        writer.add_tensor(name, (random.standard_normal(shape) * 0.05).astype(numpy.float32))

    def ones(name: str) -> None:
        writer.add_tensor(name, numpy.ones(WIDTH, dtype=numpy.float32))

    matrix("token_embd.weight", len(VOCABULARY), WIDTH)
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
    matrix("output.weight", len(VOCABULARY), WIDTH)


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
