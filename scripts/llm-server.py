#!/usr/bin/env python3
"""A real language model server for tests: llama.cpp over a tiny model of random weights, made here, nothing downloaded.

Prints the base address (`http://127.0.0.1:PORT`) on one line once it answers: OpenAI's interface is below `/v1`, Anthropic's is
`/v1/messages`. Ends on SIGTERM. Needs the packages `xllamacpp` and `gguf`; what it says makes no sense unless a grammar shapes it.
"""

import argparse
import os
import signal
import tempfile
import threading
from pathlib import Path

import gguf
import numpy as np
import xllamacpp

CONTEXT = 1024
WIDTH = 32
HIDDEN = 64
HEADS = 2


def vocabulary():
    """Every byte is a token, so that every text can be read and every grammar be kept."""
    tokens = [(b"<unk>", 0.0, gguf.TokenType.UNKNOWN), (b"<s>", 0.0, gguf.TokenType.CONTROL), (b"</s>", 0.0, gguf.TokenType.CONTROL)]
    tokens += [(f"<0x{byte:02X}>".encode(), -1e6, gguf.TokenType.BYTE) for byte in range(256)]
    tokens += [(chr(code).encode(), -10.0, gguf.TokenType.NORMAL) for code in range(33, 127)]
    tokens.append(("\u2581".encode(), -10.0, gguf.TokenType.NORMAL))
    return tokens


def write_model(path, context):
    """A Llama of one layer whose weights are always the same."""
    random = np.random.default_rng(7)
    tokens = vocabulary()
    writer = gguf.GGUFWriter(path, "llama")
    writer.add_name("tiny")
    writer.add_context_length(context)
    writer.add_embedding_length(WIDTH)
    writer.add_block_count(1)
    writer.add_feed_forward_length(HIDDEN)
    writer.add_head_count(HEADS)
    writer.add_head_count_kv(HEADS)
    writer.add_rope_dimension_count(WIDTH // HEADS)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_vocab_size(len(tokens))
    writer.add_file_type(gguf.LlamaFileType.ALL_F32)
    writer.add_tokenizer_model("llama")
    writer.add_token_list([text for text, _, _ in tokens])
    writer.add_token_scores([score for _, score, _ in tokens])
    writer.add_token_types([kind for _, _, kind in tokens])
    writer.add_unk_token_id(0)
    writer.add_bos_token_id(1)
    writer.add_eos_token_id(2)
    writer.add_chat_template("{% for message in messages %}{{ message['role'] }}: {{ message['content'] }}\n{% endfor %}assistant: ")

    def tensor(name, *shape):
        writer.add_tensor(name, random.normal(0, 0.3, shape).astype(np.float32))

    def norm(name):
        writer.add_tensor(name, np.ones(WIDTH, dtype=np.float32))

    tensor("token_embd.weight", len(tokens), WIDTH)
    norm("output_norm.weight")
    tensor("output.weight", len(tokens), WIDTH)
    norm("blk.0.attn_norm.weight")
    for part in ("q", "k", "v", "output"):
        tensor(f"blk.0.attn_{part}.weight", WIDTH, WIDTH)
    norm("blk.0.ffn_norm.weight")
    tensor("blk.0.ffn_gate.weight", HIDDEN, WIDTH)
    tensor("blk.0.ffn_up.weight", HIDDEN, WIDTH)
    tensor("blk.0.ffn_down.weight", WIDTH, HIDDEN)
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    arguments.add_argument("--key", help="a key that clients must send")
    arguments.add_argument("--grammar", help="the form (GBNF) of answers to requests that bring no grammar of their own")
    arguments.add_argument("--embeddings", action="store_true", help="answer /v1/embeddings, and nothing else")
    arguments.add_argument("--context", type=int, default=CONTEXT, help="tokens of question and answer together")
    options = arguments.parse_args()
    stop = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    with tempfile.TemporaryDirectory(prefix="llm-") as folder:
        model = Path(folder) / "tiny.gguf"
        write_model(model, options.context)
        params = xllamacpp.CommonParams()
        params.model.path = str(model)
        params.model_alias = {"tiny"}
        params.hostnames = ["127.0.0.1"]
        params.port = 0
        params.n_ctx = options.context
        params.n_parallel = 1
        params.cpuparams.n_threads = 1
        params.warmup = False
        params.verbosity = -1
        if options.embeddings:
            params.embedding = True
            params.pooling_type = xllamacpp.llama_pooling_type.LLAMA_POOLING_TYPE_MEAN
            params.n_ubatch = params.n_batch = options.context
        if options.grammar:
            kind = xllamacpp.common_grammar_type.COMMON_GRAMMAR_TYPE_USER
            params.sampling.grammar = xllamacpp.CommonGrammar(kind, options.grammar)
        if options.key:
            params.api_keys = [options.key]
        server = xllamacpp.Server(params)
        print(server.listening_address, flush=True)
        stop.wait()
    # The server's threads would go on for ever.
    os._exit(0)


main()
