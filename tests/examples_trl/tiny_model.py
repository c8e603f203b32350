"""A chat model of 100,000 random weights, and a little schooling for it.

The tokenizer is made on the spot from the texts that it will read; the chat template is Qwen3's, as
TRL ships it. `schooled` imitates whole conversations until the model can have them by itself, so
that what TRL parses, calls and rewards is the model's own output.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
import trl
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM
from trl.chat_template_utils import get_training_chat_template

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MARKS = ("<think>", "</think>", "<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
Conversation = list[dict[str, Any]]


def tiny_tokenizer(texts: Sequence[str], size: int = 1500) -> PreTrainedTokenizerFast:
    """Bytes and the pieces that are frequent in some texts."""
    made = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=size, special_tokens=list(SPECIAL), initial_alphabet=alphabet, show_progress=False
    )
    made.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made, eos_token=SPECIAL[2], pad_token=SPECIAL[0]
    )
    tokenizer.add_tokens(list(MARKS))
    templates = Path(trl.__file__).parent / "chat_templates"
    tokenizer.chat_template = (templates / "qwen3.jinja").read_text()
    return tokenizer


def tiny_model(tokenizer: PreTrainedTokenizerFast, seed: int, hidden: int = 64) -> Qwen3ForCausalLM:
    """A Qwen3 of two layers with random weights."""
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=hidden,
        intermediate_size=2 * hidden,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=8192,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        return Qwen3ForCausalLM(config)


def schooled(
    model: Qwen3ForCausalLM,
    tokenizer: PreTrainedTokenizerFast,
    conversations: Sequence[Conversation],
    tools: list[Any],
    *,
    steps: int,
    rate: float = 3e-3,
) -> float:
    """Imitate the assistant's part of some conversations; the last loss."""
    template = get_training_chat_template(tokenizer)
    rendered = [
        tokenizer.apply_chat_template(
            conversation,
            tools=tools,
            chat_template=template,
            tokenize=True,
            return_dict=True,
            return_assistant_tokens_mask=True,
            enable_thinking=False,
        )
        for conversation in conversations
    ]
    longest = max(len(one["input_ids"]) for one in rendered)
    ids = torch.full((len(rendered), longest), tokenizer.pad_token_id)
    labels = torch.full_like(ids, -100)
    for row, one in enumerate(rendered):
        tokens = torch.tensor(one["input_ids"])
        ids[row, : len(tokens)] = tokens
        own = torch.tensor(one["assistant_masks"], dtype=torch.bool)
        labels[row, : len(tokens)] = torch.where(own, tokens, -100)
    optimizer = torch.optim.AdamW(model.parameters(), lr=rate)
    model.train()
    loss = torch.tensor(float("inf"))
    for _ in range(steps):
        loss = model(input_ids=ids, attention_mask=(ids != tokenizer.pad_token_id), labels=labels).loss
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return float(loss.detach())
