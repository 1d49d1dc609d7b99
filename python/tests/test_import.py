"""Imports that are not the first one, and other interpreters."""
import subprocess
import sys
import textwrap

import pytest


def run(code):
    done = subprocess.run([sys.executable, "-c", textwrap.dedent(code)], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, (done.returncode, done.stdout, done.stderr)


IN_ANOTHER = """
def other(code):
    try:
        import _interpreters
    except ImportError:
        import _xxsubinterpreters
        id = _xxsubinterpreters.create(isolated=False)
        _xxsubinterpreters.run_string(id, code)
        _xxsubinterpreters.destroy(id)
    else:
        id = _interpreters.create("legacy")
        failed = _interpreters.run_string(id, code)
        assert failed is None, failed
        _interpreters.destroy(id)

import sys
other(f'''
import sys
sys.path[:] = {sys.path}
try:
    import infini
except ImportError as error:
    assert "main interpreter" in str(error), error
else:
    raise AssertionError("imported")
''')
"""
IN_THE_MAIN_ONE = """
import infini
t = infini.Tensor.ones((2, 3))
for wrong, kind in ((lambda: t.view(7), infini.InvalidValue), (lambda: infini.contiguous(3), infini.InvalidType)):
    try:
        wrong()
    except kind as error:
        assert isinstance(error, infini.Error)
assert infini.contiguous(t.T).shape == (3, 2)
"""


@pytest.mark.parametrize("code", [IN_THE_MAIN_ONE + IN_ANOTHER + IN_THE_MAIN_ONE, IN_ANOTHER + IN_THE_MAIN_ONE], ids=["after", "before"])
def test_another_interpreter_breaks_nothing(code):
    run(code)


def test_a_second_import_is_the_first_one():
    run("""
    import sys
    import infini
    old = infini
    t = infini.Tensor.ones((2, 3))
    for name in [name for name in sys.modules if name.startswith("infini")]:
        del sys.modules[name]
    import infini
    assert infini is not old and infini.Tensor is old.Tensor and infini.Error is old.Error and infini.DType(t.dtype) == "f32"
    for package in (old, infini):
        try:
            package.contiguous(3)
        except package.InvalidType as error:
            assert isinstance(error, old.Error)
        assert package.contiguous(t.T).shape == (3, 2) and package.Tensor.zeros(2, t.dtype).dtype == "f32"
    """)
