"""infini.torture finds what is planted, makes it small, and finds nothing where nothing is."""
import subprocess
import sys

import numpy as np
import planted
import pytest
from infini import torture


@pytest.mark.parametrize("defect", planted.DEFECTS, ids=lambda d: d.__name__)
def test_planted_defects_are_found_and_made_small(defect):
    target = defect()
    found = torture.torture(target, 3000, 5)
    assert found, "not found"
    case, why = found
    assert torture.failure(target, case)
    assert int(np.prod(case.shape)) <= 40 and len(case.shape) <= 3
    assert len(torture.report(target, case, why).splitlines()) <= 10


@pytest.mark.parametrize("name", ["infini", "numpy"])
def test_nothing_is_found_where_nothing_is(name):
    assert torture.torture(torture.load(name), 400, 2) is None


@pytest.mark.parametrize("name", list(torture.TARGETS))
def test_programs_run_and_do_what_is_expected(name):
    if not torture.installed(name):
        pytest.skip(f"no {name}")
    target = torture.load(name)
    rng = torture.random.Random(9)
    for _ in range(5):
        case = torture.draw(rng, getattr(target, "positive", False))
        program = target.program(case)
        scope = {}
        exec(program, scope)
        assert np.array_equal(scope["dst"], torture.expected(case)), program


def test_command_line():
    done = subprocess.run([sys.executable, "-m", "infini.torture", "numpy", "--cases", "20"], capture_output=True, text=True)
    assert done.returncode == 0 and "20 copies" in done.stdout, done.stderr
    done = subprocess.run([sys.executable, "-m", "infini.torture", "nobody"], capture_output=True, text=True)
    assert done.returncode != 0 and "is no target" in done.stderr
