"""PyTorch's version counters, for releases that raise one tensor's at a time or none."""


def increment(tensors):
    """A write of nothing is a write: the views' counters are those of the tensors."""
    for tensor in tensors:
        if not tensor.is_inference():  # which has no counter
            tensor.detach().as_strided((0,), (1,)).zero_()
