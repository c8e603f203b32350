"""A chat model of some 200,000 weights with a tokenizer, made on the spot, for trainers' tests.

Its answers are scripted (`said`), so what a model of chance would sample does not matter; the
template, the parser, the loop, the masks and the update are the trainer's own.
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from scripted_model import Call, Script

SPECIAL = ("<|endoftext|>", "<|im_start|>", "<|im_end|>")
MARKS = ("<tool_call>", "</tool_call>", "<tool_response>", "</tool_response>")
GIVING_UP = "Done.<|im_end|>"
CHATML = """\
{%- for message in messages %}
{{- '<|im_start|>' + ('user' if message.role == 'tool' else message.role) + '\\n' }}
{%- if message.role == 'tool' %}
{{- '<tool_response>\\n' + message.content + '\\n</tool_response>' }}
{%- else %}
{{- message.content }}
{%- endif %}
{%- if loop.first and tools %}
{{- '\\n\\nTools:' }}
{%- for tool in tools %}
{{- '\\n' + (tool | tojson) }}
{%- endfor %}
{%- endif %}
{%- for call in message.tool_calls or [] %}
{{- '<tool_call>\\n{"name": "' + call.function.name + '", "arguments": ' }}
{{- (call.function.arguments | tojson) + '}\\n</tool_call>' }}
{%- endfor %}
{{- '<|im_end|>\\n' }}
{%- endfor %}
{%- if add_generation_prompt %}
{{- '<|im_start|>assistant\\n' }}
{%- endif %}
"""
"""A chat template for trainers that take any."""


def said(call: Call | None) -> str:
    """A call as Qwen3 writes it; the end of the conversation where there is none."""
    if call is None:
        return GIVING_UP
    written = json.dumps({"name": call.name, "arguments": call.arguments}, ensure_ascii=False)
    return f"<tool_call>\n{written}\n</tool_call><|im_end|>"


def calls_in(text: str) -> int:
    """How many calls of a conversation were answered."""
    return text.count("<tool_response>")


def texts_of(*scripts: Script) -> list[str]:
    """What is read and said in the episodes of scripts."""
    texts = []
    for script in scripts:
        _, messages = script.episodes.conversation(0)
        texts += [message["content"] for message in messages]
        for played in script.played:
            texts += [played.text, *map(said, played.calls)]
    return texts


def save_tiny_model(folder: Path, texts: Sequence[str], template: str) -> Path:
    """A directory with a random Qwen3 of two layers, and a tokenizer that has read some texts."""
    import torch
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast, Qwen3Config, Qwen3ForCausalLM

    made: Any = Tokenizer(models.BPE())
    made.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    made.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=2500,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    made.train_from_iterator(texts, trainer)
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=made,
        eos_token=SPECIAL[2],
        pad_token=SPECIAL[0],
        clean_up_tokenization_spaces=False,
    )
    tokenizer.add_tokens(list(MARKS))
    tokenizer.chat_template = template
    config = Qwen3Config(
        vocab_size=len(tokenizer),
        hidden_size=64,
        intermediate_size=128,
        num_hidden_layers=2,
        num_attention_heads=4,
        num_key_value_heads=2,
        head_dim=16,
        max_position_embeddings=32768,
        tie_word_embeddings=True,
        eos_token_id=tokenizer.eos_token_id,
        pad_token_id=tokenizer.pad_token_id,
    )
    with torch.random.fork_rng():
        torch.manual_seed(0)
        Qwen3ForCausalLM(config).save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    return folder
