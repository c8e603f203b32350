"""What a model is shown, of the real pages."""

from errands.envs.shop import ShopEnv
from errands.learn.data.view import PAST, ChoiceView, EpisodeMemory, read_view


def _results(shop: ShopEnv) -> str:
    _, info = shop.reset(options={"goal": 3})
    page, *_ = shop.step(f"search[{info['instruction'].partition(',')[0]}]")
    return str(page)


def test_the_search_page(shop: ShopEnv) -> None:
    page, info = shop.reset(options={"goal": 3})
    view = read_view(page)
    asked, _, cap = info["instruction"].partition(", and price lower than ")
    assert view.instruction == f"{asked.lower()} ${cap.split()[0]}"
    assert view.names == view.actions == ("search",)
    assert view.past == ("opened 0",)


def test_products_are_told_by_place_price_and_title(shop: ShopEnv) -> None:
    page = _results(shop)
    view = read_view(page)
    lines = page.splitlines()
    for place, (name, action) in enumerate(zip(view.names[2:], view.actions[2:], strict=True), 1):
        at = lines.index(f"[button] {name.upper()} [button_]")
        assert action.startswith(f"item {place} $")
        assert action.endswith(lines[at + 1])
    assert len(view.names) == 12
    assert view.instruction.split(" $")[0] not in view.page


def test_every_name_can_be_clicked(shop: ShopEnv) -> None:
    page = _results(shop)
    page, *_, info = shop.step(f"click[{read_view(page).names[2]}]")
    assert sorted(read_view(page).names) == sorted(info["available_actions"]["clickables"])


def test_a_chosen_option_is_marked(shop: ShopEnv) -> None:
    page = _results(shop)
    page, *_ = shop.step(f"click[{read_view(page).names[2]}]")
    view = read_view(page)
    option = view.names[2]
    page, *_ = shop.step(f"click[{option}]")
    after = read_view(page)
    assert f"[clicked button] {option}" in after.actions
    assert option in after.names
    assert f"[clicked button] {option}" not in view.actions


def test_the_past_counts_products_and_forgets(shop: ShopEnv) -> None:
    memory = EpisodeMemory()
    view = memory.view(_results(shop))
    memory.record(view, "search[red hat]")
    for action in (view.names[2], *["back to search"] * 10, view.names[3]):
        memory.record(view, f"click[{action}]")
    past = memory.view(_results(shop)).past
    assert past[:-1] == ("opened 2", *["back to search"] * (PAST - 1))
    assert past[-1].startswith("item 2 $")


def test_a_view_knows_whose_picture_is_shown(shop: ShopEnv) -> None:
    memory = EpisodeMemory()
    view = memory.view(_results(shop))
    assert view.product == ""
    name = view.names[2]
    memory.record(view, f"click[{name}]")
    page, *_ = shop.step(f"click[{name}]")
    view = memory.view(page)
    assert view.product == name
    memory.record(view, "click[description]")
    page, *_ = shop.step("click[description]")
    assert memory.view(page).product == "", "a sub-page shows no picture"
    page, *_ = shop.step("click[< prev]")
    assert memory.view(page).product == name


def test_a_page_without_instruction_is_all_page() -> None:
    view = read_view("Thank you\n[button] Home [button_]")
    assert (view.instruction, view.names) == ("", ("home",))


def test_an_option_is_no_product_whatever_it_is_called() -> None:
    memory = EpisodeMemory()
    bought = "Instruction:\na hat\n[button] Item 3 Red [button_]\n[button] Buy Now [button_]"
    view = memory.view(bought)
    memory.record(view, "click[item 3 red]")
    view = memory.view(bought)
    assert view.past == ("opened 0", "item 3 red")
    assert view.product == ""


def test_a_view_tells_what_was_seen_of_products(shop: ShopEnv) -> None:
    memory = EpisodeMemory()
    instruction = shop.reset(options={"goal": 3})[1]["instruction"]

    def do(action: str) -> ChoiceView:
        view = memory.view(pages[-1])
        memory.record(view, action)
        pages.append(str(shop.step(action)[0]))
        return memory.view(pages[-1])

    pages = [str(shop.reset(options={"goal": 3})[0])]
    listed = do(f"search[{instruction.partition(',')[0]}]")
    assert listed.kind == "results"
    assert listed.queries == (instruction.partition(",")[0],)
    assert [one.rank for one in listed.seen] == list(range(10))
    assert [one.name for one in listed.seen] == list(listed.names[2:])
    first = listed.names[2]
    on_item = do(f"click[{first}]")
    assert (on_item.kind, on_item.here) == ("item", first)
    assert [one.name for one in on_item.seen] == [first], "what was listed only is forgotten"
    values = [value for _, group in on_item.seen[0].options for value in group]
    assert set(values) < set(on_item.names)
    assert on_item.seen[0].chosen == ()
    if values:
        assert do(f"click[{values[0]}]").seen[0].chosen == (values[0],)
    below = do("click[features]")
    assert below.kind == "detail"
    ((button, text),) = below.seen[0].details
    assert button == "features"
    assert text.strip() in pages[-1]
    assert "[button]" not in text
    do("click[< prev]")
    again = do("click[< prev]")
    assert again.seen[0].details == below.seen[0].details
    assert [one.opened for one in again.seen] == [1] + [0] * 9
    second = do("click[next >]")
    assert [one.rank for one in second.seen if not one.opened] == list(range(10, 20))
    do("click[< prev]")
    assert do(f"click[{first}]").seen[0].opened == 2
