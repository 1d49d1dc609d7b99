"""infini.torch: opcheck, gradients, torch.compile."""
import pytest

torch = pytest.importorskip("torch")
import infini  # noqa: E402
import infini.torch as it  # noqa: E402

CASES = [
    ("infini::permute", lambda x: (x, [2, 0, 1])),
    ("infini::contiguous", lambda x: (x.transpose(0, 2),)),
    ("infini::rearrange", lambda x: (x, "a (b c) d -> c (a d) b", "b", [2])),
    ("infini::rearrange", lambda x: (x, "a ... -> ... a r 2", "r", [3])),
    ("infini::matmul", lambda x: (x, x.detach().clone()[0].transpose(0, 1))),
    ("infini::convert", lambda x: (x, torch.float32, 0.5, 1.0, False)),
    ("infini::convert", lambda x: (x, torch.bfloat16, 1.0, 0.0, True)),
]


def sample(dtype=torch.float64):
    torch.manual_seed(3)
    return torch.randn(3, 4, 5, dtype=dtype)


@pytest.mark.parametrize("name, arguments", CASES)
def test_opcheck(name, arguments):
    space, function = name.split("::")
    op = getattr(getattr(torch.ops, space), function).default
    torch.library.opcheck(op, arguments(sample().requires_grad_()))
    torch.library.opcheck(op, arguments(sample()))


def test_opcheck_copy_pages():
    ids = torch.tensor([2, 0])
    op = torch.ops.infini.copy_pages_.default
    torch.library.opcheck(op, (torch.zeros(4, 2, 3), ids, torch.ones(2, 2, 3), None, ""))
    torch.library.opcheck(op, (torch.zeros(4, 3, 2), ids, torch.ones(3, 2, 3), torch.tensor([1, 2]), "a b -> b a"))


def test_pages_in_a_compiled_program():
    def append(cache, ids, new):
        it.copy_pages_(cache, ids, new * 2, pattern="a b -> b a")
        return cache.sum()

    new = torch.arange(12.0).reshape(2, 2, 3)
    wanted = torch.zeros(4, 3, 2)
    wanted[torch.tensor([3, 1])] = (new * 2).transpose(1, 2)
    for function in (append, torch.compile(append, fullgraph=True, backend="aot_eager")):
        cache = torch.zeros(4, 3, 2)
        assert function(cache, torch.tensor([3, 1]), new) == wanted.sum() and torch.equal(cache, wanted)


def test_repeat_and_lists():
    x = sample()
    assert torch.equal(it.repeat(x, "a b c -> a b c 2"), torch.stack([x, x], -1))
    assert torch.equal(it.rearrange([x, x + 1], "n a b c -> a n b c"), torch.stack([x, x + 1], 1))
    assert torch.autograd.gradcheck(lambda x: it.rearrange([x, x * 2], "n a b c -> c (n a b)"), x.requires_grad_())


def test_opcheck_copy():
    torch.library.opcheck(torch.ops.infini.copy_.default, (torch.zeros(4, 3), torch.ones(3)))


@pytest.mark.parametrize("function", [
    lambda x: it.permute(x, 1, 2, 0),
    lambda x: it.contiguous(x.transpose(0, 1)),
    lambda x: it.rearrange(x, "a (b c) d -> (d c) a b", b=2),
    lambda x: it.rearrange(x, "a b c -> a r b c 2", r=3),
    lambda x: it.rearrange(x, "... c -> c (...)"),
    lambda x: it.rearrange(x, "a ... -> (...) a 1 r", r=2),
    lambda x: it.matmul(x, x[0].transpose(0, 1)),
    lambda x: it.matmul(x, x[0, 0]),
    lambda x: it.matmul(x[0, 0], x.transpose(1, 2)),
    lambda x: it.convert(x, torch.float64, scale=-0.5, shift=2.0),
])
def test_gradients(function):
    assert torch.autograd.gradcheck(function, sample().requires_grad_())


def test_values_and_graphs():
    x = sample(torch.float32)

    def model(x):
        y = it.rearrange(x, "a (b c) d -> b a (c d)", b=2)
        z = it.matmul(y, it.permute(y, 0, 2, 1))
        return it.convert(it.contiguous(z.transpose(1, 2)), torch.float16)

    expected = x.reshape(3, 2, 2, 5).permute(1, 0, 2, 3).reshape(2, 3, 10)
    expected = (expected @ expected.transpose(1, 2)).transpose(1, 2).half()
    torch.testing.assert_close(model(x), expected)
    compiled = torch.compile(model, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(x), expected)
    torch.testing.assert_close(compiled(x.requires_grad_()), expected)


def test_fake_tensors():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(3, 4, 5)
        assert it.rearrange(x, "a (b c) d -> b a c d", b=2).shape == (2, 3, 2, 5)
        assert it.matmul(x, torch.empty(5, 7)).shape == (3, 4, 7)


def test_copy_in_place():
    y = torch.zeros(3, 4)
    assert it.copy_(y[:, ::2], torch.arange(2)) is not None
    assert y.tolist() == [[0, 0, 1, 0]] * 3
