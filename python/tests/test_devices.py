"""Tensors of our own on every device that is here, emulated ones included."""
import numpy as np
import pytest

import infini
from infini import Tensor

DEVICES = infini.devices()
X = np.arange(60, dtype="f4").reshape(3, 4, 5)


def test_there_is_a_cpu():
    assert DEVICES[0] == "cpu:0"


@pytest.mark.parametrize("device", DEVICES)
def test_work(device):
    t = Tensor.from_array(X.copy(), device)
    assert t.device == device and np.array_equal(t.numpy(), X)
    view = t[::-1, 1:3].permute(2, 0, 1)
    expected = X[::-1, 1:3].transpose(2, 0, 1)
    assert np.array_equal(view.contiguous().numpy(), expected)
    assert np.array_equal(infini.contiguous(view).numpy(), expected)
    assert infini.permute(t, 2, 1, 0).device == device
    t[1] = X[2] * 2
    assert np.array_equal(t.numpy()[1], X[2] * 2)
    product = t @ t.transpose()
    assert product.device == device and np.array_equal(product.numpy(), t.numpy() @ t.numpy().swapaxes(1, 2))
    infini.synchronize(device)
    assert np.array_equal(np.asarray(t), t.numpy()) and np.asarray(t, "f8").dtype == "f8"
    assert [row.shape for row in t] == [(4, 5)] * 3


@pytest.mark.parametrize("device", DEVICES)
def test_copies_between_devices_and_arrays(device):
    t = Tensor.empty((4, 3, 5), "f32", device)
    infini.copy(t.permute(1, 0, 2), X)  # from the host's array, into strides
    back = np.zeros((5, 4, 3), "f4")
    infini.copy(back, t.permute(2, 0, 1))
    assert np.array_equal(back, X.transpose(2, 1, 0))
    assert np.array_equal(t.to("cpu").to(device).numpy(), t.numpy())
    assert np.array_equal(Tensor.ones((2, 2), "f16", device).numpy(), np.ones((2, 2)))


@pytest.mark.parametrize("device", DEVICES)
def test_graphs(device):
    x = Tensor.from_array(X.copy(), device)
    with infini.record() as graph:
        y = infini.contiguous(x.transpose())
        z = x @ y
    for factor in (1, 3):
        x.copy_(X * factor)
        graph.run()
        assert np.array_equal(z.numpy(), (X @ X.swapaxes(1, 2)) * factor**2)


@pytest.mark.parametrize("device", DEVICES[1:])
def test_devices_do_not_mix(device):
    there, here = Tensor.ones((2, 2), "f32", device), Tensor.ones((2, 2))
    with pytest.raises(infini.Error):
        infini.matmul(there, here)
    with pytest.raises(BufferError):
        memoryview(there)
    if device.split(":")[0] in ("ascend", "kunlun"):
        with pytest.raises(BufferError):
            there.__dlpack__()
