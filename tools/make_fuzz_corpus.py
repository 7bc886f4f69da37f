#!/usr/bin/env python3
"""Writes the small files that the fuzz targets of the formats start from: tests/fuzz/corpus/{gguf,safetensors,npy}."""
import json
import pathlib
import struct

CORPUS = pathlib.Path(__file__).resolve().parent.parent / "tests" / "fuzz" / "corpus"


def gguf_string(text):
    data = text.encode()
    return struct.pack("<Q", len(data)) + data


def gguf(version, entries, tensors, alignment=32):
    """entries: (key, kind, payload); tensors: (name, ne, type, bytes)."""
    out = b"GGUF" + struct.pack("<IQQ", version, len(tensors), len(entries))
    for key, kind, payload in entries:
        out += gguf_string(key) + struct.pack("<I", kind) + payload
    offset = 0
    for name, ne, kind, data in tensors:
        out += gguf_string(name) + struct.pack("<I", len(ne)) + struct.pack(f"<{len(ne)}Q", *ne)
        out += struct.pack("<IQ", kind, offset)
        offset += (len(data) + alignment - 1) // alignment * alignment
    out += b"\0" * (-len(out) % alignment)
    for _, _, _, data in tensors:
        out += data + b"\0" * (-len(data) % alignment)
    return out


def make_gguf():
    words = ["<unk>", "a", "b", "ab"]
    entries = [
        ("general.architecture", 8, gguf_string("llama")),
        ("general.alignment", 4, struct.pack("<I", 32)),
        ("llama.block_count", 4, struct.pack("<I", 1)),
        ("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5)),
        ("tokenizer.ggml.tokens", 9, struct.pack("<IQ", 8, len(words)) + b"".join(map(gguf_string, words))),
        ("tokenizer.ggml.token_type", 9, struct.pack("<IQ4i", 5, 4, 2, 1, 1, 1)),
        ("tokenizer.ggml.add_bos_token", 7, b"\1"),
        ("a.u8", 0, b"\7"),
        ("a.i16", 3, struct.pack("<h", -3)),
        ("a.i64", 11, struct.pack("<q", -1)),
        ("a.f64", 12, struct.pack("<d", 0.5)),
    ]
    tensors = [
        ("f32", [4], 0, struct.pack("<4f", 1, 2, 3, 4)),
        ("f16", [2, 2], 1, bytes(8)),
        ("q4_0", [32], 2, bytes(range(18))),
        ("q4_1", [32], 3, bytes(range(20))),
        ("q5_0", [32], 6, bytes(range(22))),
        ("q5_1", [32], 7, bytes(range(24))),
        ("q8_0", [32, 1], 8, bytes(range(34))),
        ("q4_K", [256], 12, bytes(range(144))),
        ("q6_K", [256], 14, bytes(range(210))),
    ]
    yield "small_v3.gguf", gguf(3, entries, tensors)
    yield "metadata_v2.gguf", gguf(2, entries[:2], [])


def make_safetensors():
    table = {
        "__metadata__": {"format": "pt"},
        "a": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]},
        "b": {"dtype": "BF16", "shape": [3], "data_offsets": [16, 22]},
        "empty": {"dtype": "F16", "shape": [0, 4], "data_offsets": [22, 22]},
    }
    text = json.dumps(table).encode()
    text += b" " * (-len(text) % 8)
    yield "small.safetensors", struct.pack("<Q", len(text)) + text + bytes(range(22))
    yield "none.safetensors", struct.pack("<Q", 2) + b"{}"


def make_npy():
    for dtype, shape, size in (("<f4", "(2, 3)", 24), ("<i8", "(2,)", 16), ("<f2", "()", 2), ("|b1", "(0,)", 0)):
        text = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".encode()
        text += b" " * (-(len(text) + 11) % 64) + b"\n"
        name = dtype.strip("<|") + ".npy"
        yield name, b"\x93NUMPY\x01\x00" + struct.pack("<H", len(text)) + text + bytes(range(size))


def main():
    for subject, files in (("gguf", make_gguf()), ("safetensors", make_safetensors()), ("npy", make_npy())):
        folder = CORPUS / subject
        folder.mkdir(parents=True, exist_ok=True)
        for name, data in files:
            (folder / name).write_bytes(data)


main()
