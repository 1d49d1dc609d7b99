"""What the tests of tensors in files share: running the tool, and writing and reading files byte by byte."""
import json
import os
import pathlib
import struct
import subprocess

failures = []


def check(fine, *about):
    if not fine:
        failures.append(" ".join(map(str, about)))


class Tool:
    """The command line tool."""

    def __init__(self, path):
        self.path = path

    def run(self, *words, **more):
        return subprocess.run([self.path, *map(str, words)], capture_output=True, text=True, timeout=600, **more)

    def succeeds(self, *words, **more):
        done = self.run(*words, **more)
        check(done.returncode == 0 and not done.stderr, words, done.returncode, done.stderr)
        return done.stdout

    def refused(self, words, text, *, folder=None, **more):
        """One line, exit status 2, and nothing new in the folder."""
        before = sorted(os.listdir(folder)) if folder else []
        done = self.run(*words, **more)
        lines = done.stderr.splitlines()
        check(done.returncode == 2 and len(lines) == 1 and text in lines[0], words, "expected", repr(text), "got",
              done.returncode, done.stderr[:300])
        check(not folder or sorted(os.listdir(folder)) == before, words, "left", folder and os.listdir(folder))


def npy(header, data=b"", version=(1, 0), length=None):
    text = header if isinstance(header, bytes) else header.encode()
    width = "<H" if version[0] == 1 else "<I"
    return b"\x93NUMPY" + bytes(version) + struct.pack(width, len(text) if length is None else length) + text + data


def plain_npy(descr, shape, data=b"", fortran=False):
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
