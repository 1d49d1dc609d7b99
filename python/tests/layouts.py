"""Random layouts over random memory, for tests."""
import numpy as np

# Every size that elements have, names that DLPack lacks included.
ITEM_TYPES = [np.dtype(t) for t in (
    "?", "i1", "u2", "f2", "f4", "i8", "f8", "c8", "c16", ">f4", ">i8", "S3", "S5", "U3", "M8[s]", "V7", "V12", "V16",
    "V24", [("a", "u1"), ("b", "f4")], np.longdouble)]


def fill(rng, memory):
    memory[...] = rng.integers(0, 256, memory.shape, dtype=np.uint8)


def bytes_of(array):
    """The elements' bytes in row-major order."""
    return np.ascontiguousarray(array).tobytes()


def random_view(rng, shape, dtype, broadcast=False):
    """(memory, array over it): gaps, any order of dims, negative steps; with `broadcast` also steps of 0."""
    dtype = np.dtype(dtype)
    order = rng.permutation(len(shape))
    steps, step = [0] * len(shape), dtype.itemsize * int(rng.integers(1, 3)) + int(rng.integers(0, 2) * rng.integers(0, 9))
    for dim in order:
        steps[dim] = step
        step = step * (max(shape[dim], 1) + int(rng.integers(0, 2))) + int(rng.integers(0, 2) * rng.integers(0, 9))
    for dim in range(len(shape)):
        if broadcast and rng.random() < 0.2:
            steps[dim] = 0
        elif rng.random() < 0.3:
            steps[dim] = -steps[dim]
    low = sum((n - 1) * s for n, s in zip(shape, steps) if n > 0 and s < 0)
    high = sum((n - 1) * s for n, s in zip(shape, steps) if n > 0 and s > 0)
    start = int(rng.integers(0, 9)) - low
    memory = np.empty(start + high + dtype.itemsize + int(rng.integers(0, 9)), np.uint8)
    fill(rng, memory)
    if dtype.kind == "b":
        memory &= 1
    return memory, np.ndarray(shape, dtype, memory, start, steps)
