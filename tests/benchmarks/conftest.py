"""Tiny data sets in the layout of the real ones, and one call that runs a benchmark."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from benchmark_figures import UPDATES, Figures, Runner

from benchmarks.cli import main
from hindsight_core.testing import HashingEmbedder

PLACES = ("Lisbon", "Oslo", "Nairobi", "Lima", "Hanoi", "Quito")


def write_json(path: Path, value: Any) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, ensure_ascii=False), "utf-8")


def write_lines(path: Path, rows: Sequence[Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), "utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def run(data: Path, tmp_path: Path) -> Runner:
    """Run a benchmark on `data` and return the figures that it wrote."""

    def call(name: str, *options: str) -> Figures:
        out = tmp_path / "out" / f"{name}.json"
        arguments = [name, "--data", str(data), "--json", str(out), *options]
        code = main([*arguments, "--cache", str(tmp_path / "cache")], embedder=HashingEmbedder())
        assert code == 0
        figures: Figures = json.loads(out.read_text("utf-8"))
        return figures

    return call


@pytest.fixture
def locomo(data: Path) -> Path:
    """One conversation of two sessions with three questions that can be answered."""
    turns = [f"I spent the summer in {place}." for place in PLACES]
    conversation: dict[str, Any] = {"speaker_a": "Ann", "speaker_b": "Bo"}
    for number in (2, 1):
        conversation[f"session_{number}_date_time"] = f"1:56 pm on {number} May, 2023"
        conversation[f"session_{number}"] = [
            {"speaker": "Ann", "dia_id": f"D{number}:{place + 1}", "text": f"{number}: {text}"}
            for place, text in enumerate(turns)
        ]
    conversation["session_1"][0]["blip_caption"] = "a photo of a tram"
    questions = [
        {"question": "Who spent the summer in Oslo?", "evidence": ["D1:2; D2:2"], "category": 1},
        {"question": "Who shares a photo of a tram?", "evidence": ["D1:1"], "category": 4},
        {"question": "Who was in Lima?", "evidence": ["D1:4", "D9:9"], "category": 2},
        {"question": "Who was in Rome?", "evidence": ["D1:5"], "category": 5},
        {"question": "Who was in Bonn?", "evidence": ["nowhere"], "category": 1},
    ]
    path = data / "locomo" / "some.json"
    write_json(path, [{"sample_id": "conv-1", "conversation": conversation, "qa": questions}])
    return path


@pytest.fixture
def beam(data: Path) -> Path:
    """One chat; gold as a list and as a dict of lists."""
    said = [f"My trip to {place} is planned. ->-> 1,{i}" for i, place in enumerate(PLACES)]
    said.append("Here is a log: " + "line " * 5_000)
    messages = [
        {"role": "user", "id": 10 + place, "content": text} for place, text in enumerate(said)
    ]
    write_json(data / "beam-100k/3/chat.json", [{"turns": [messages[:2], messages[2:]]}])
    asked = {
        "one": [{"question": "Is the trip to Oslo planned?", "source_chat_ids": [11]}],
        "two": [
            {"question": "Is it Lima or Hanoi?", "source_chat_ids": {"a": [13], "b": [14]}},
            {"question": "Nothing?", "source_chat_ids": []},
        ],
    }
    write_json(data / "beam-100k/3/probing_questions.json", asked)
    return data / "beam-100k"


@pytest.fixture
def pairs(data: Path) -> Path:
    """Two updates, a third within one message, and two contradictions."""

    def row(chat: str, category: str, first: int, thing: str, same: bool = False) -> Figures:
        before, after, question = UPDATES[thing]
        old = {"id": first, "role": "user", "content": before}
        new = {"id": first + 4, "role": "user", "content": after}
        return {"chat": chat, "category": category, "question": question, "answer": "",
                "a": [old], "b": [old if same else new], "same_message": same}  # fmt: skip

    rows = [
        row("100K/10", "knowledge_update", 7, "page"),
        row("100K/2", "knowledge_update", 3, "export"),
        row("100K/2", "knowledge_update", 20, "page", same=True),
        row("100K/2", "contradiction_resolution", 3, "export"),
        row("100K/10", "contradiction_resolution", 7, "page"),
    ]
    path = data / "beam-pairs" / "pairs.jsonl"
    write_lines(path, rows)
    return path


@pytest.fixture
def webarena(data: Path) -> Path:
    """Three templates, one of which was used once."""
    intents = [(f"Show me the reviews of {place}", 1) for place in PLACES[:3]]
    intents += [(f"Cancel order number {place}", 2) for place in PLACES[3:]]
    intents.append(("Fork the repository", 3))
    path = data / "webarena-tasks" / "test.raw.json"
    write_json(path, [{"intent": text, "intent_template_id": kind} for text, kind in intents])
    return path


@pytest.fixture
def tau(data: Path) -> Path:
    """Two tasks of four trials; the second trial of each succeeds."""
    rows = []
    for trial in range(4):
        for task, want in enumerate(("book a flight to Lima", "cancel my hotel in Oslo")):
            messages = [
                {"role": "system", "content": "You are a travel agent."},
                {"role": "user", "content": f"Please {want}, attempt {trial}"},
                {"role": "assistant", "content": "It is done."},
                {"role": "user", "content": "###STOP###"},
            ]
            reward = 1.0 if trial == 1 else 0.0
            rows.append(
                {"task_id": task, "reward": reward, "info": {}, "traj": messages, "trial": trial}
            )
    path = data / "tau-bench" / "model.json"
    write_json(path, rows)
    return path


@pytest.fixture
def alfworld(data: Path) -> Path:
    """Two types of task, three games each, of which two succeeded."""
    rows = []
    for number in range(3):
        for kind, task in (("pick_cool", "cool some apple"), ("look_at", "examine the bowl")):
            log = (
                f"You are in the middle of a room.\nYour task is to: {task} {number}.\n"
                "> think: I look around.\n> go to fridge 1\nOn the fridge 1, you see an apple 1.\n"
            )
            rows.append({"name": f"{kind}-Apple-{number}/t", "result": number < 2, "traj": log})
    path = data / "knowagent" / "games.jsonl"
    write_lines(path, rows)
    return path


@pytest.fixture
def xquad(data: Path) -> Path:
    """Paragraphs and questions in English and Chinese."""
    texts = {
        "en": [(f"The tower of {p} was built in {1900 + i}.", f"When was the tower of {p} built?")
               for i, p in enumerate(PLACES)],
        "zh": [(f"{p}塔建于{1900 + i}年。", f"{p}塔建于哪一年？")
               for i, p in enumerate(("里斯本", "奥斯陆", "内罗毕", "利马", "河内", "基多"))],
    }  # fmt: skip
    for language, pairs_ in texts.items():
        paragraphs = [{"context": text, "qas": [{"question": q}]} for text, q in pairs_]
        write_json(data / f"xquad/xquad.{language}.json", {"data": [{"paragraphs": paragraphs}]})
    return data / "xquad"


@pytest.fixture
def reflexion(data: Path) -> Path:
    """Two questions: one is answered at the third attempt, one never."""

    def row(trial: int, question: str, outcome: str, reflections: Sequence[str]) -> Figures:
        steps = [
            {"kind": "thought", "n": 1, "text": f"I try it for the {trial}. time."},
            {"kind": "action", "n": 1, "text": f"Search[{question} {trial}]"},
            {"kind": "observation", "n": 1, "text": "A page about rivers."},
        ]
        return {"trial": trial, "question": question, "outcome": outcome,
                "reflections": list(reflections), "steps": steps, "gold_answer": "x"}  # fmt: skip

    river, film = "Which river is longer, the Tejo or the Glomma?", "Who made the film about Lima?"
    first = "I should compare both lengths before I answer."
    second = "I should look for the length of the Glomma first, then that of the Tejo."
    rows = [
        row(1, river, "incorrect", []),
        row(1, film, "halted", []),
        row(2, river, "incorrect", [first]),
        row(2, film, "incorrect", ["I should search for the director's name."]),
        row(3, river, "correct", [first, second]),
        row(3, film, "incorrect", ["I should search for the director's name."]),
        row(4, river, "correct", [first, second]),
    ]
    rows[-1]["steps"] = rows[-3]["steps"]
    path = data / "reflexion" / "log.jsonl"
    write_lines(path, rows)
    return path
