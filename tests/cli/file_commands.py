"""Tensors in files by the command line: every format there and back, parts, shards, and all that must be refused."""
import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import zipfile

TOOL = sys.argv[1]
SIZES = {"F64": 8, "F32": 4, "F16": 2, "BF16": 2, "U8": 1, "I64": 8, "F8_E4M3": 1, "F8_E5M2": 1}
failures = []


def run(*words, **more):
    return subprocess.run([TOOL, *map(str, words)], capture_output=True, text=True, timeout=120, **more)


def check(fine, *about):
    if not fine:
        failures.append(" ".join(map(str, about)))


def succeeds(*words):
    done = run(*words)
    check(done.returncode == 0 and not done.stderr, words, done.returncode, done.stderr)
    return done.stdout


def refused(words, text, *, folder=None):
    """One line, exit status 2, and nothing new in the folder."""
    before = sorted(os.listdir(folder)) if folder else []
    done = run(*words)
    lines = done.stderr.splitlines()
    check(done.returncode == 2 and len(lines) == 1 and text in lines[0], words, "expected", repr(text), "got",
          done.returncode, done.stderr[:300])
    check(not folder or sorted(os.listdir(folder)) == before, words, "left", folder and os.listdir(folder))


def npy(header, data=b"", version=(1, 0), length=None):
    text = header if isinstance(header, bytes) else header.encode()
    width = "<H" if version[0] == 1 else "<I"
    return b"\x93NUMPY" + bytes(version) + struct.pack(width, len(text) if length is None else length) + text + data


def plain_npy(descr, shape, data, fortran=False):
    return npy(f"{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {tuple(shape)!r}, }}\n", data)


def safetensors(header, data=b"", length=None):
    text = header if isinstance(header, bytes) else (header if isinstance(header, str) else json.dumps(header)).encode()
    return struct.pack("<Q", len(text) if length is None else length) + text + data


def tensor(dtype, shape, begin, end):
    return {"dtype": dtype, "shape": shape, "data_offsets": [begin, end]}


def read_safetensors(path):
    raw = pathlib.Path(path).read_bytes()
    length = struct.unpack("<Q", raw[:8])[0]
    header = json.loads(raw[8:8 + length])
    data = raw[8 + length:]
    return {name: (t["dtype"], t["shape"], data[slice(*t["data_offsets"])]) for name, t in header.items()
            if name != "__metadata__"}


def read_npy(path):
    raw = pathlib.Path(path).read_bytes()
    length = struct.unpack("<H", raw[8:10])[0]
    return eval(raw[10:10 + length].decode()), raw[10 + length:]


def numbers(code, data):
    return list(struct.unpack(f"<{len(data) // struct.calcsize(code)}{code}", data))


def bad_npy(folder):
    path = folder / "bad.npy"
    good = "{'descr': '<f4', 'fortran_order': False, 'shape': (2,), }\n"
    data = bytes(8)
    cases = [
        (b"", "is no .npy file"), (b"\x93NUMPX" + bytes(20), "is no .npy file"),
        (npy(good, data, length=0), "header of 0 bytes"), (npy(good, data, length=60000), "but only"),
        (npy(good, data, (2, 0), length=2**32 - 1), "at most"), (npy(good.rstrip(), data), "newline"),
        (npy(good.replace("(2,)", "(2)"), data), "comma"), (npy(good.replace("'shape': (2,), ", ""), data), "'shape' is missing"),
        (npy(good.replace("}", "'more': 1}"), data), "unknown key 'more'"),
        (npy(good.replace("}", "'shape': (2,)}"), data), "comes twice"),
        (npy(good.replace("False", "0"), data), "neither True nor False"),
        (npy(good.replace("(2,)", "(-1,)"), data), "expected an extent"), (npy(good.replace("(2,)", "(2.0,)"), data), "needs a comma"),
        (npy(good.replace("(2,)", "(99999999999999999999,)"), data), "too large"),
        (npy(good.replace("(2,)", f"({2**62}, 4)"), data), "2^63"), (npy(good.replace("(2,)", "(" * 60000), data), "expected an extent"),
        (npy(good.replace("<f4", "|O"), data), "object arrays"), (npy(good.replace("<f4", ">f4"), data), "other byte order"),
        (npy(good.replace("'<f4'", "[('a', '<f4')]"), data), "structured"), (npy(good.replace("<f4", "<V2"), data), "no type"),
        (npy(good, data[:7]), "7 bytes of data; its shape needs 8"), (npy(good, data + b"x"), "9 bytes of data"),
    ]
    cases += [(npy(good, data, (v, 0)), f"version {v}.0") for v in (0, 4)] + [(npy(good, data, (1, 1)), "version 1.1")]
    for raw, text in cases:
        path.write_bytes(raw)
        refused(["info", path], text)
    for version in (1, 2, 3):
        path.write_bytes(npy(good, data, (version, 0)))
        succeeds("info", path)
    path.write_bytes(plain_npy("<f4", (0, 2**62, 8), b""))
    check("0x4611686018427387904x8" in succeeds("info", path), "a zero next to a huge dim")


def bad_safetensors(folder):
    path = folder / "bad.safetensors"
    one = {"a": tensor("F32", [2], 0, 8)}
    data = bytes(8)
    text = json.dumps(one)
    cases = [
        (b"", "has 0 bytes"), (b"1234567", "has 7 bytes"), (safetensors(one, data, length=0), "header of 0 bytes"),
        (safetensors(one, data, length=9999), "but only"), (safetensors(one, data, length=2**63), "at most"),
        (safetensors(one, data, length=100_000_001), "at most"), (safetensors("[]", data), "no JSON object"),
        (safetensors(b"\xef\xbb\xbf" + text.encode(), data), "no JSON object"), (safetensors(text.replace("a", "\0"), data), "control character"),
        (safetensors(text.replace('"a"', '"\\u0000"'), data), "NUL"), (safetensors(text[:-1] + ", " + text[1:], data), "comes twice"),
        (safetensors('{"a":' * 70 + "1" + "}" * 70), "unknown key"), (safetensors('{"__metadata__": ' + "[" * 100000), "object"),
        (safetensors({"a": tensor("F32", [2], 8, 0)}, data), "ends before it begins"),
        (safetensors({"a": tensor("F32", [2], 0, 8), "b": tensor("F32", [1], 4, 8)}, data), "overlaps"),
        (safetensors({"a": tensor("F32", [1], 4, 8)}, data), "a gap"), (safetensors({"a": tensor("F32", [2], 0.0, 8)}, data), "fraction"),
        (safetensors({"a": tensor("F32", [2], -8, 0)}, data), "negative"),
        (safetensors({"a": tensor("U8", [2**53 + 1], 0, 2**53 + 1)}, data), str(2**53 + 1)),
        (safetensors({"a": tensor("F33", [2], 0, 8)}, data), "unknown dtype"), (safetensors({"a": tensor("F32", [3], 0, 8)}, data), "needs 12"),
        (safetensors({"a": tensor("F32", [2**62, 4], 0, 8)}, data), "2^63"),
        (safetensors({"__metadata__": {"k": 1}, **one}, data), "no string"), (safetensors({"__metadata__": ["k"], **one}, data), "object"),
        (safetensors(one, data + b"!"), "1 bytes after"), (safetensors(one, data[:4]), "of which there are 4"),
        (safetensors({"a": {**one["a"], "more": 1}}, data), "unknown key"), (safetensors({"a": {"dtype": "F32"}}, data), "lacks"),
        (safetensors(text + "x", data), "nothing was expected"), (safetensors(text.replace('"a"', '"\\ud800"'), data), "surrogate"),
        (safetensors(text.encode().replace(b'"a"', b'"\xff"'), data), "UTF-8"), (safetensors(text.replace("[2]", "[02]"), data), "leading 0"),
        (safetensors(text.replace("[2]", "[2,]"), data), "whole number"), (safetensors(text.replace("}}", "},}"), data), "string"),
    ]
    for raw, expected in cases:
        path.write_bytes(raw)
        refused(["info", path], expected)
    path.write_bytes(safetensors({"../x\u00e9\u4e2d\U0001f600\"\\": tensor("F32", [2], 0, 8)}, data))
    check("../xé" in succeeds("info", path), "a name with a slash and escapes")
    many = {f"t{i}": tensor("U8", [0], 0, 0) for i in range(200000)}
    path.write_bytes(safetensors(many))
    check(succeeds("info", path).count("\n") == 200001, "many tensors")


def there_and_back(folder):
    values = list(range(2 * 3 * 4))
    data = struct.pack("<24f", *values)
    (folder / "a.npy").write_bytes(plain_npy("<f4", (2, 3, 4), data))
    succeeds("rearrange", folder / "a.npy", folder / "t.npy", "a b c -> c b a")
    header, raw = read_npy(folder / "t.npy")
    expected = [a * 12 + b * 4 + c for c in range(4) for b in range(3) for a in range(2)]
    check(header["shape"] == (4, 3, 2) and numbers("f", raw) == expected, "rearrange", header)
    succeeds("slice", folder / "a.npy", folder / "s.npy", "1, ::-2, 1:3")
    header, raw = read_npy(folder / "s.npy")
    check(header["shape"] == (1, 2, 2) and numbers("f", raw) == [21, 22, 13, 14], "slice", numbers("f", raw))
    succeeds("convert", folder / "a.npy", folder / "a.safetensors", "--dtype", "bf16")
    made = read_safetensors(folder / "a.safetensors")["a"]
    check(made[0] == "BF16" and numbers("H", made[2]) == [struct.unpack("<I", struct.pack("<f", v))[0] >> 16 for v in values],
          "bf16")
    refused(["convert", folder / "a.safetensors", folder / "x.npy"], "no name for elements of bf16", folder=folder)
    succeeds("convert", folder / "a.safetensors", folder / "b.npy", "--dtype", "f32")
    check(read_npy(folder / "b.npy")[1] == data, "back from bf16")
    (folder / "f.npy").write_bytes(plain_npy("<f4", (2, 12), data, fortran=True))
    succeeds("convert", folder / "f.npy", folder / "r.npy")
    check(numbers("f", read_npy(folder / "r.npy")[1]) == values[::2] + values[1::2], "column-major")
    for method in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        with zipfile.ZipFile(folder / "z.npz", "w", method) as archive:
            archive.writestr("x.npy", plain_npy("<f4", (24,), data))
            archive.writestr("y/z.npy", plain_npy("|u1", (3,), b"abc"))
        succeeds("convert", folder / "z.npz", folder / f"z{method}.safetensors")
        made = read_safetensors(folder / f"z{method}.safetensors")
        check(made["x"][2] == data and made["y/z"] == ("U8", [3], b"abc"), "npz", method)
    raw = (folder / "z.npz").read_bytes()
    for cut in (0, 10, len(raw) - 30, len(raw) - 1):
        (folder / "cut.npz").write_bytes(raw[:cut])
        refused(["info", folder / "cut.npz"], "cut.npz")
    damaged = raw.replace(b"\x93NUMPY", b"\x93NUMPZ") if method == 0 else raw[:60] + bytes(20) + raw[80:]
    (folder / "cut.npz").write_bytes(damaged)
    refused(["info", folder / "cut.npz"], "cut.npz")


def shards(folder):
    w, b = struct.pack("<64H", *range(64)), struct.pack("<2d", 1.5, 2.5)
    (folder / "m.safetensors").write_bytes(safetensors(
        {"__metadata__": {"format": "pt"}, "w": tensor("F16", [8, 8], 0, 128), "b": tensor("F64", [2], 128, 144)}, w + b))
    for dim in (0, 1):
        out = folder / f"p{dim}.safetensors"
        succeeds("shard", folder / "m.safetensors", out, "--tp", 4, "--dim", dim, "--tensor", "w", "--memory", 4096)
        parts = [folder / f"p{dim}-rank-{r}-of-4.safetensors" for r in range(4)]
        for rank, part in enumerate(parts):
            made = read_safetensors(part)
            rows = [[r * 8 + c for c in range(8)] for r in range(8)]
            mine = rows[2 * rank:2 * rank + 2] if dim == 0 else [row[2 * rank:2 * rank + 2] for row in rows]
            check(numbers("H", made["w"][2]) == sum(mine, []) and made["b"] == ("F64", [2], b), "shard", dim, rank)
        succeeds("unshard", *parts, folder / f"u{dim}.safetensors", "--dim", dim, "--tensor", "w")
        made = read_safetensors(folder / f"u{dim}.safetensors")
        check(made["w"] == ("F16", [8, 8], w) and made["b"][2] == b, "unshard", dim)
    for name in ("nameless", "a.folder/nameless"):
        refused(["shard", folder / "m.safetensors", name, "--tp", 2], f"{name}-rank-0-of-2: expected a name that ends with", folder=folder)
    refused(["shard", folder / "m.safetensors", folder / "q.safetensors", "--tp", 3, "--dim", 0], "equal parts", folder=folder)
    index = {"metadata": {"total_size": 1}, "weight_map": {"w": "m.safetensors", "b": "m.safetensors"}}
    (folder / "m.safetensors.index.json").write_text(json.dumps(index))
    check("2 tensors" in succeeds("info", folder / "m.safetensors.index.json"), "sharded index")
    for wrong, text in (("../m.safetensors", "beside the index"), ("nowhere.safetensors", "No such file")):
        index["weight_map"]["w"] = wrong
        (folder / "w.safetensors.index.json").write_text(json.dumps(index))
        refused(["info", folder / "w.safetensors.index.json"], text)


def out_of_memory_sizes(folder):
    """More than the memory: the same bytes, whatever the pieces."""
    rows, columns = 300, 257
    data = bytes((r * 7 + c * 13 + c // 256) & 255 for r in range(rows) for c in range(columns))
    (folder / "l.npy").write_bytes(plain_npy("|u1", (rows, columns), data))
    transposed = bytes(data[r * columns + c] for c in range(columns) for r in range(rows))
    strided = b"".join(data[r * columns:(r + 1) * columns][::-3] for r in range(0, rows, 2))
    repeated = bytes(v for v in data for _ in range(3))
    for memory in ("64", "1000", "20K", "1M"):
        for words, expected in ((("rearrange", "r c -> c r"), transposed), (("slice", "::2, ::-3"), strided),
                                (("rearrange", "r c -> r c 3"), repeated)):
            succeeds(words[0], folder / "l.npy", folder / "o.npy", words[1], "--memory", memory, "--replace")
            check(read_npy(folder / "o.npy")[1] == expected, words, memory)
    refused(["convert", folder / "l.npy", folder / "o2.npy", "--memory", "1"], "too small", folder=folder)


def places(folder):
    source, data = folder / "i.npy", plain_npy("<f4", (4,), bytes(16))
    source.write_bytes(data)
    (folder / "there.npy").write_bytes(b"precious")
    os.symlink(source, folder / "link.npy")
    os.link(source, folder / "hard.npy")
    os.symlink("nothing", folder / "dangling.npy")
    os.mkdir(folder / "folder.npy")
    os.mkfifo(folder / "pipe.npy")
    for name, text in (("i.npy", "is the input"), ("link.npy", "is the input"), ("hard.npy", "is the input"),
                       ("there.npy", "exists already"), ("folder.npy", "is a folder"), ("pipe.npy", "no regular file"),
                       ("dangling.npy", "symbolic link"), ("none/x.npy", "No such file")):
        refused(["convert", source, folder / name], text, folder=folder)
        if name not in ("there.npy",):
            refused(["convert", source, folder / name, "--replace"], text, folder=folder)
    check((folder / "there.npy").read_bytes() == b"precious" and source.read_bytes() == data, "nothing was lost")
    refused(["info", folder / "folder.npy"], "is a folder")
    refused(["info", folder / "pipe.npy"], "no regular file")
    refused(["info", folder / "x.txt"], "expected a name that ends with")
    refused(["info", folder / "x.npy"], "No such file")
    refused(["convert", source, folder / "x.npz"], "can only be read", folder=folder)
    refused(["rearrange", source, folder / "x.npy", "a b -> b a"], "pattern", folder=folder)
    refused(["slice", source, folder / "x.npy", "7"], "is not in dim 0", folder=folder)
    refused(["slice", source, folder / "x.npy", "::0"], "step of 0", folder=folder)
    refused(["convert", source, folder / "x.npy", "--tensor", "nobody"], "has no tensor", folder=folder)
    refused(["convert", source, folder / "x.npy", "--dtype", "f33"], "no element type", folder=folder)
    refused(["convert", source, folder / "x.npy", "--memory", "lots"], "--memory", folder=folder)
    succeeds("convert", source, folder / "there.npy", "--replace")
    check((folder / "there.npy").read_bytes()[-16:] == bytes(16), "--replace")
    if os.geteuid() != 0:
        os.mkdir(folder / "closed", 0o555)
        refused(["convert", source, folder / "closed" / "x.npy"], "Permission denied")


def interrupted(folder):
    """A sparse file of 2 GB, whose copy is ended early: nothing new is left, and no file of a name that was there is lost."""
    source = folder / "sparse.npy"
    source.write_bytes(npy("{'descr': '|u1', 'fortran_order': False, 'shape': (65536, 32768), }\n"))
    os.truncate(source, source.stat().st_size + (1 << 31))
    before = sorted(os.listdir(folder))
    job = subprocess.Popen([TOOL, "rearrange", source, folder / "out.npy", "a b -> b a", "--memory", "4M"],
                           stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    for _ in range(500):
        if sorted(os.listdir(folder)) != before:
            break
        time.sleep(0.01)
    check(sorted(os.listdir(folder)) != before, "the job began")
    job.send_signal(signal.SIGINT)
    job.communicate(timeout=60)
    check(job.returncode == -signal.SIGINT, "interrupted:", job.returncode)
    check(sorted(os.listdir(folder)) == before, "an interrupt left", os.listdir(folder))


def main():
    for test in (bad_npy, bad_safetensors, there_and_back, shards, out_of_memory_sizes, places, interrupted):
        with tempfile.TemporaryDirectory(dir=sys.argv[2]) as name:
            test(pathlib.Path(name))
    print("\n".join(failures) or "files are read, written and refused as they should be")
    return 1 if failures else 0


sys.exit(main())
