import json

import msgspec
import pytest
from played import MemoryStore, made, run_info

from errands.errors import SettingError
from errands.reports.content import SCHEMA, command_of, gather, to_json


def test_the_json_has_the_names_of_its_schema(careful: MemoryStore, oracle: MemoryStore) -> None:
    told = json.loads(to_json(gather([careful, oracle])))
    assert told["schema"] == SCHEMA == 3
    assert set(told) == {
        "schema", "errands", "title", "runs", "seeds", "comparisons", "ranks", "demonstrations",
        "notes",
    }  # fmt: skip
    run = told["runs"][0]
    assert set(run) == {
        "label",
        "info",
        "figures",
        "listed",
        "remarks",
        "command",
        "row4",
        "training",
    }
    assert set(run["figures"]) == {
        "episodes", "planned", "done", "truncated", "errors", "unit", "clusters", "weights",
        "score", "success", "score_at_least", "success_at_least", "rewards", "bought", "parts",
        "causes", "valid_actions", "repeats", "trajectory", "usage", "failures", "answers",
        "paperwork",
    }  # fmt: skip
    score = {"mean", "low", "high", "count", "clusters", "method"}
    assert set(run["figures"]["score"]) == score
    assert run["figures"]["score"]["method"] == "cluster bootstrap"
    turk = told["runs"][1]["figures"]["paperwork"]["rules"]["paper"]
    assert set(turk["macro"]) == set(turk["tasks"][0]["all"]) == score
    assert set(told["runs"][1]["figures"]["paperwork"]) == {"rules", "lengths", "calls"}
    assert set(told["runs"][1]["figures"]["paperwork"]["rules"]) == {"paper", "released"}


def test_the_same_runs_give_the_same_bytes(careful: MemoryStore, chance: MemoryStore) -> None:
    assert to_json(gather([careful, chance])) == to_json(gather([careful, chance]))


def test_text_that_no_file_can_hold_is_still_written() -> None:
    store = MemoryStore(run_info("shop", "bad \ud800 name", 1), [made(0, None, error="\udfff!")])
    told = json.loads(to_json(gather([store])))
    assert told["runs"][0]["label"] == "bad ? name"


def test_a_report_needs_a_run() -> None:
    with pytest.raises(SettingError, match="at least one run"):
        gather([])


def test_names_tell_runs_apart() -> None:
    infos = [
        run_info("shop", "llm", 1, agent_settings={"model": "m", "demos": 0}, id="1"),
        run_info("shop", "llm", 1, agent_settings={"model": "m", "demos": 3}, id="2"),
        run_info("shop", "llm", 1, agent_settings={"model": "m", "demos": 3}, id="3"),
        run_info("turk", "random", 1),
        run_info("shop", "random", 1),
    ]
    labels = [run.label for run in gather([MemoryStore(info) for info in infos]).runs]
    assert labels == [
        "llm m (demos 0)", "llm m (demos 3) (2)", "llm m (demos 3) (3)", "random (TurkingBench)",
        "random (WebShop)",
    ]  # fmt: skip
    twins = [MemoryStore(run_info("shop", "x", 1))] * 2
    assert [run.label for run in gather(twins).runs] == ["x", "x #2"]


def test_remarks_name_what_a_reader_must_know() -> None:
    info = run_info("shop", "o", 9, privileged=True, remarks=("2 tasks are absent.",))
    info = msgspec.structs.replace(info, protocol={**info.protocol, "warning": "The split leaks."})
    (run,) = gather([MemoryStore(info, [made(0, 1.0), made(1, None)])]).runs
    said = " ".join(run.remarks)
    for words in ("2 tasks are absent", "The split leaks", "shown the answers", "7 of 9", "1 of 2"):
        assert words in said


def test_runs_of_different_halves_are_not_compared_and_many_only_with_the_first(
    careful: MemoryStore, chance: MemoryStore, oracle: MemoryStore
) -> None:
    made_ = gather([careful, chance, oracle]).comparisons
    assert [(one.first, one.second) for one in made_] == [("careful", "random")]
    five = gather([careful, chance, careful, chance, careful]).comparisons
    assert [(one.first, one.second) for one in five] == [
        ("careful", "random"), ("careful", "careful #2"), ("careful", "random #2"),
        ("careful", "careful #3"),
    ]  # fmt: skip
    assert all(one.p_holm is not None and one.p is not None for one in five)
    assert all(one.p_holm >= one.p for one in five)


def test_the_command_can_be_anothers(careful: MemoryStore) -> None:
    (own,) = gather([careful], command=lambda info: f"do {info.id}").runs
    assert own.command == "do demo-shop-careful"


def test_the_command_repeats_the_run_and_says_what_departs() -> None:
    plain = msgspec.structs.replace(run_info("shop", "rule", 3), observations="hash")
    protocol = {**plain.protocol, "id": "shop-demo", "episodes": 200, "max_steps": 100, "seed": 0}
    same = msgspec.structs.replace(plain, protocol=protocol)
    assert command_of(same) == "errands run shop-demo --agent rule"
    other = msgspec.structs.replace(
        plain,
        agent="choice-oracle",
        agent_settings={"query": "human-last", "missing": "instruction"},
        protocol={**protocol, "data": "my shop", "episodes": 3},
        seed=7,
    )
    assert command_of(other) == (
        "errands run shop-demo --agent choice-oracle --data 'my shop' --episodes 3 --seed 7"
        " --set query=human-last"
    )


def test_the_title_says_how_many_tasks_are_absent() -> None:
    def titled(key: str) -> str:
        protocol = {"id": "t", "title": "Forms"}
        info = run_info("turk", "a", 0, protocol=protocol, protocol_key=key)
        return gather([MemoryStore(info)]).title

    assert titled("t@1 data:1") == "Forms"
    assert titled("t@1 data:1 without:1") == "Forms (without 1 task)"
    assert titled("t@1 data:1 without:12 split=test") == "Forms (without 12 tasks)"
