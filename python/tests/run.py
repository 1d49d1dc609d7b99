"""Runs the tests; where NumPy or pytest is missing it says so, which ctest takes as skipped."""
import importlib.util
import pathlib
import sys


def main():
    missing = [name for name in ("numpy", "pytest") if importlib.util.find_spec(name) is None]
    if missing:
        print("SKIPPED: no", " and no ".join(missing))
        return 0

    import pytest

    return pytest.main(["-q", "-p", "no:cacheprovider", "-rs", str(pathlib.Path(__file__).parent), *sys.argv[1:]])


if __name__ == "__main__":  # processes that tests start import this file again
    sys.exit(main())
