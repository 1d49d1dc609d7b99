"""The README's example runs, and does what it says."""
import pathlib
import re

import numpy as np

README = pathlib.Path(__file__).parents[2] / "README.md"


def test_example():
    (program,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    names = {}
    exec(program, names)
    x, y, c = names["x"], names["y"], names["c"]
    assert np.array_equal(y, x.T[::-1])
    assert np.array_equal(c, 2 * (x @ y))
