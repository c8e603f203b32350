"""The cross-attention is the paper's, number by number and gradient by gradient."""

import torch
from torch import Tensor

from errands.learn.data.batch import ChoiceBatch, TokenLimits, encode, pack
from errands.learn.data.view import read_view
from errands.learn.data.vocabulary import Vocabulary
from errands.learn.models.choice import ChoiceConfig, ChoiceModel, CrossAttention, with_edition
from errands.learn.models.runtime import seeded_torch

WIDTH = 5
PAGE = """Instruction:
I want a red hat
[button] Back to Search [button_]
A blue hat
Price: $3.0
[button] red [button_]
[button] Buy Now [button_]"""


def _leaky(x: Tensor) -> Tensor:
    return torch.where(x > 0, x, 0.01 * x)


def _by_the_paper(layer: CrossAttention, o: list[Tensor], a: list[Tensor]) -> Tensor:
    """Equations 3 to 6 for one observation and one action, token by token."""
    w1, w2, w3 = layer.w1.weight[0], layer.w2.weight[0], layer.w3
    alpha = [[w1.dot(oi) + w2.dot(aj) + w3.dot(oi * aj) for aj in a] for oi in o]
    strongest = [torch.stack([row[j] for row in alpha]).max() for j in range(len(a))]
    q = sum((s.exp() * aj for s, aj in zip(strongest, a, strict=True)), torch.zeros(())) / sum(
        (s.exp() for s in strongest), torch.zeros(())
    )
    contextual = []
    for j, aj in enumerate(a):
        weights = [row[j].exp() for row in alpha]
        c = sum((w * oi for w, oi in zip(weights, o, strict=True)), torch.zeros(())) / sum(
            weights, torch.zeros(())
        )
        joined = torch.cat([aj, c, aj * c, q * c])
        hidden = _leaky(layer.w4.weight @ joined + layer.w4.bias)
        contextual.append(layer.w5.weight @ hidden + layer.w5.bias)
    return torch.stack(contextual).sum(0) / len(a)


def _case() -> tuple[CrossAttention, Tensor, Tensor, Tensor, Tensor]:
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        layer = CrossAttention(WIDTH).double()
        torch.nn.init.normal_(layer.w3)
        o = torch.randn(2, 6, WIDTH, dtype=torch.float64, requires_grad=True)
        a = torch.randn(2, 3, 4, WIDTH, dtype=torch.float64, requires_grad=True)
    o_mask = torch.arange(6) < torch.tensor([[6], [3]])
    a_mask = torch.arange(4) < torch.tensor([[[4], [1], [2]], [[2], [3], [4]]])
    return layer, o, o_mask, a, a_mask


def _gradients(result: Tensor, sources: list[Tensor]) -> tuple[Tensor, ...]:
    weights = torch.linspace(-1, 2, result.numel(), dtype=torch.float64).reshape(result.shape)
    return torch.autograd.grad((result * weights).sum(), sources)


def test_is_equations_3_to_6_with_gradients() -> None:
    layer, o, o_mask, a, a_mask = _case()
    fast = layer(o, o_mask, a, a_mask)
    slow = torch.stack(
        [
            torch.stack(
                [
                    _by_the_paper(layer, list(o[b][o_mask[b]]), list(a[b, k][a_mask[b, k]]))
                    for k in range(a.shape[1])
                ]
            )
            for b in range(o.shape[0])
        ]
    )
    assert torch.allclose(fast, slow, rtol=1e-10, atol=1e-12)
    sources = [o, a, *layer.parameters()]
    for one, other in zip(_gradients(fast, sources), _gradients(slow, sources), strict=True):
        assert torch.allclose(one, other, rtol=1e-9, atol=1e-11)
        assert one.abs().max() > 0


def test_what_is_masked_says_nothing() -> None:
    layer, o, o_mask, a, a_mask = _case()
    before = layer(o, o_mask, a, a_mask)
    with torch.no_grad():
        o[~o_mask] = 100.0
        a[~a_mask] = -100.0
    assert torch.allclose(layer(o, o_mask, a, a_mask), before)


def test_an_action_without_tokens_is_no_nan() -> None:
    layer, o, o_mask, a, a_mask = _case()
    a_mask[0, 1] = False
    result = layer(o, o_mask, a, a_mask)
    assert torch.isfinite(result).all()
    assert torch.isfinite(_gradients(result, [a])[0]).all()


def _judged(edition: int) -> tuple[ChoiceModel, ChoiceBatch]:
    words = Vocabulary(["red", "hat", "blue"])
    view = read_view(PAGE)
    with seeded_torch(1):
        model = ChoiceModel(ChoiceConfig(width=8, edition=edition), len(words)).eval()
    return model, pack([encode(view, words, TokenLimits())])


def test_the_score_is_equation_6() -> None:
    """w6 of the mean of all ca, and nothing in between; older checkpoints have a leaky ReLU."""
    model, batch = _judged(2)
    older, _ = _judged(1)
    means: list[Tensor] = []
    model.attention.register_forward_hook(lambda layer, given, mean: means.append(mean))
    with torch.inference_mode():
        scores = model(batch).scores
        before = older(batch).scores
        by_hand = means[0] @ model.w6.weight[0] + model.w6.bias
        leaky = _leaky(means[0]) @ model.w6.weight[0] + model.w6.bias
    assert torch.allclose(scores, by_hand)
    assert torch.allclose(before, leaky)
    assert not torch.allclose(by_hand, leaky)


def test_checkpoints_without_an_edition_are_of_the_first() -> None:
    assert ChoiceConfig().edition == 2
    assert with_edition({"encoder": "gru"}) == {
        "encoder": "gru", "edition": 1, "from_scratch": False,
    }  # fmt: skip
    assert with_edition({"encoder": "gru", "edition": 2})["edition"] == 2
    assert with_edition({"encoder": "matching"})["edition"] == 2
