"""Streams and DLPack on a GPU that is emulated, and stricter than a chip."""
import os
import pathlib
import subprocess
import sys

import pytest

import infini

HERE = pathlib.Path(__file__).parent


@pytest.mark.skipif("nvidia:0" in infini.devices(), reason="a GPU is here: test_cuda.py")
@pytest.mark.skipif("metax:1" not in infini.devices(), reason="the emulated GPU is not built")
def test_a_framework_with_streams():
    ran = subprocess.run([sys.executable, HERE / "cuda_like.py"], env={**os.environ, "SIMT_EMU_STRICT": "1"},
                         stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=120)
    assert ran.returncode == 0, ran.stdout
