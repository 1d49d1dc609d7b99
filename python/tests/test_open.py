"""infini.open against NumPy."""
import json
import os
import struct

import infini
import numpy as np
import pytest


def save_safetensors(path, arrays):
    header, data = {}, b""
    names = {"float32": "F32", "float16": "F16", "int64": "I64", "uint8": "U8"}
    for name, x in arrays.items():
        raw = np.ascontiguousarray(x).tobytes()
        header[name] = {"dtype": names[x.dtype.name], "shape": list(x.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


INDICES = [..., 0, -1, slice(1, 3), (slice(None), slice(None, None, 2)), (slice(None, None, -1), ..., 3),
           (2, slice(4, 1, -2), slice(0, 0)), (..., slice(-3, None)), (1, 2, 3), (slice(None), 0, slice(None, None, 3))]


@pytest.mark.parametrize("kind", ["npy", "fortran.npy", "npz", "packed.npz", "safetensors"])
@pytest.mark.parametrize("index", INDICES, ids=str)
def test_any_part(tmp_path, kind, index):
    x = np.random.default_rng(1).standard_normal((4, 6, 7)).astype(np.float32)
    path = tmp_path / f"x.{kind}"
    if kind.endswith("npy"):
        np.save(path, np.asfortranarray(x) if kind.startswith("fortran") else x)
    elif kind.endswith("npz"):
        (np.savez_compressed if kind.startswith("packed") else np.savez)(path, x=x, y=x[0])
    else:
        save_safetensors(path, {"y": x[0].astype(np.float16), "x": x})
    with infini.open(path) as file:
        tensor = file["x"] if "x" in file else file[next(iter(file))]
        assert tensor.shape == x.shape and tensor.dtype == "f32"
        np.testing.assert_array_equal(tensor[index].numpy(), x[index])


def test_mapping_and_errors(tmp_path):
    path = tmp_path / "m.safetensors"
    save_safetensors(path, {"a": np.arange(3), "b": np.zeros((2, 0), np.float32), "c": np.array(7, np.uint8)})
    file = infini.open(str(path))
    assert list(file) == ["a", "b", "c"] and len(file) == 3 and "2x0" in repr(file["b"])
    assert np.asarray(file["a"]).tolist() == [0, 1, 2] and file["b"].read().shape == (2, 0)
    assert file["c"].read().tolist() == 7
    with pytest.raises(KeyError):
        file["d"]
    for index in (3, -4, (0, 0)):
        with pytest.raises(IndexError):
            file["a"][index]
    for index in ("x", True, 1.5, [0, 1], np.array([0, 1]), (None, 0), (..., np.array([True]))):
        with pytest.raises(TypeError, match="an index is a whole number, a slice or '...', not"):
            file["a"][index]
    assert file["a"][np.int64(2)].tolist() == file["a"][np.array(-1)].tolist() == 2
    with pytest.raises(ValueError, match="No such file"):
        infini.open(tmp_path / "none.npy")
    with pytest.raises(ValueError, match="expected a name"):
        infini.open(tmp_path / "none.txt")
    path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(ValueError, match="of which there are"):
        infini.open(path)


def test_files_that_change_or_are_none(tmp_path):
    path = tmp_path / "x.npy"
    np.save(path, np.arange(100000.0))
    file = infini.open(path)
    os.truncate(path, 1000)
    with pytest.raises(ValueError, match="bytes too early"):
        file["x"].read()
    with pytest.raises(ValueError, match="bytes too early"):
        file["x"][::1000]
    np.testing.assert_array_equal(file["x"][:100].numpy(), np.arange(100.0))  # what is still there
    os.mkfifo(tmp_path / "pipe.npy")
    os.mkdir(tmp_path / "folder.npy")
    for name, text in (("pipe.npy", "no regular file"), ("folder.npy", "is a folder")):
        with pytest.raises(ValueError, match=text):
            infini.open(tmp_path / name)
