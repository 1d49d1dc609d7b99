"""Runs the tests; where NumPy or pytest is missing it says so, which ctest takes as skipped."""
import importlib.util
import pathlib
import sys

missing = [name for name in ("numpy", "pytest") if importlib.util.find_spec(name) is None]
if missing:
    print("SKIPPED: no", " and no ".join(missing))
    sys.exit(0)

import pytest

sys.exit(pytest.main(["-q", "-p", "no:cacheprovider", "-rs", str(pathlib.Path(__file__).parent), *sys.argv[1:]]))
