"""How each action of the library is done in a browser tab."""

import asyncio
import json
import math
from collections.abc import Awaitable, Callable
from typing import Any, Final

from errands.browser.chromium import BrowserError
from errands.browser.tab import Tab
from errands.turk.actions.action import ACTIONS, Action, Value
from errands.turk.pages.driver import ActionError, Result, Unsupported, checked_arguments
from errands.turk.pages.field import MARK, excerpt, well_formed

__all__ = ["PASSIVE", "ask", "perform"]

PASSIVE: Final = frozenset({"get_html", "capture_screen", "wait_for_element", "submit"})
"""Actions that leave the page as it is."""
_FREE: Final = frozenset({"click", "type", "press_key", "drag", "select_text"})
"""Actions that may set off anything; those on fields see to it themselves."""
_TYPED: Final = 64
"""Longer texts are put in at once, but for their last character."""
_NOTHING: Final = ("nan", "None", None)


async def perform(tab: Tab, action: Action) -> Result:
    """Do one action; raises `ActionError` where it is not possible."""
    page_action = _PAGE_ACTIONS.get(action.name)
    if page_action is None:
        raise Unsupported(f"There is no action {action.name!r}: {', '.join(ACTIONS)}")
    result = await page_action(tab, **checked_arguments(action))
    if action.name in _FREE:
        await ask(tab, "settle")
    return result


async def ask(tab: Tab, name: str, /, **question: Any) -> Any:
    """Put one question to `probe.js`; raises `ActionError` where it says it cannot be."""
    call = f"errandsAsk({json.dumps(name)}, {json.dumps(question)})"
    answer = json.loads(await tab.evaluate(call))
    if "error" not in answer:
        return answer["answer"]
    if answer["impossible"]:
        raise ActionError(answer["error"])
    raise BrowserError(f"The page could not be asked for {name}: {answer['error']}")


def _words(value: Value) -> str:
    return "" if value is None else str(value)


def _whole(value: Value) -> str:
    """A number as radio buttons and check boxes write it: without a fraction."""
    if isinstance(value, float) and math.isfinite(value):
        return str(int(value))
    return _words(value)


async def _modify_text(tab: Tab, name: str, value: Value) -> None:
    if not value or value == "nan" or value != value:
        return
    text = well_formed(_words(value))
    start = await ask(tab, "startText", name=name, value=text)
    if start["set"]:
        return
    typed = text.replace("\r\n", "\n").replace("\r", "\n")
    if not start["lines"]:
        typed = typed.replace("\n", "")
    if typed and start["focused"]:
        # A key at the end, so that the page's handlers of keys meet the whole text.
        await tab.within(_write(tab, typed), "take the text")
    await ask(tab, "endText", name=name, value=text)


async def _write(tab: Tab, text: str) -> None:
    keyboard = tab.page.keyboard
    if len(text) > 1:
        await asyncio.gather(keyboard.insert_text(text[:-1]), keyboard.type(text[-1]))
    else:
        await keyboard.type(text)


async def _modify_checkbox(tab: Tab, name: str, value: Value) -> None:
    wanted = [piece for piece in _words(value).split("|") if piece != "nan"]
    if not any(wanted) and not (wanted and await ask(tab, "hasBox", name=name)):
        return
    for box in await ask(tab, "startBoxes", name=name, wanted=wanted):
        await _press_box(tab, "checkbox", name, box)


async def _modify_radio(tab: Tab, name: str, value: Value) -> None:
    if value != value or value in _NOTHING:
        return
    for box in await ask(tab, "startRadio", name=name, value=_whole(value)):
        await _press_box(tab, "radio", name, box)


async def _press_box(tab: Tab, kind: str, name: str, box: dict[str, Any]) -> None:
    """A real click where the box can be reached, or else one by script."""
    where = {"type": kind, "name": name, "index": box["index"]}
    aim = box if "checked" in box else await ask(tab, "aim", **where)
    if aim is None:
        return
    if aim["point"] is not None:
        await _click_at(tab, aim["point"])
    await ask(tab, "endBox", **where, before=aim["checked"])


async def _modify_select(tab: Tab, name: str, value: Value) -> None:
    await ask(tab, "select", name=name, value=_words(value))


async def _modify_range(tab: Tab, name: str, value: Value) -> None:
    if value in _NOTHING or value != value:
        return
    await ask(tab, "range", name=name, value=_words(value))


async def _get_html(tab: Tab, name: str | None) -> str:
    answer = await ask(tab, "html", name=name, mark=MARK)
    if name is None:
        return str(answer)
    end_tag = "</select>" if answer["tag"] == "select" else None
    return excerpt(answer["html"], end_tag=end_tag)


async def _wait_for_element(tab: Tab, name: str) -> None:
    for wait in (0.0, 0.05, 0.1, 0.2, 0.4, 0.8, 1.5):
        await asyncio.sleep(wait)
        if await ask(tab, "present", name=name):
            return
    raise ActionError(f"No element named {name!r} appeared")


async def _scroll_to_element(tab: Tab, name: str) -> None:
    await ask(tab, "scrollTo", name=name)


async def _submit(tab: Tab) -> None:
    """Ends an episode, which is the environment's to do; the page is left as it is."""


async def _capture_screen(tab: Tab, name: str | None) -> bytes:
    if name is None:
        await tab.evaluate("document.fonts.ready.then(() => true)", wait=True)
        return await tab.snapshot()
    clip = await ask(tab, "area", name=name)
    capture = tab.page.screenshot(clip=clip, type="png", caret="initial", full_page=True, timeout=0)
    return await tab.within(capture, "be pictured", 2 * tab.config.step_seconds)


async def _click(tab: Tab, x: float | None, y: float | None, selector: str | None) -> None:
    if selector is not None:
        if x is not None or y is not None:
            raise ActionError("click takes a selector, or x and y, not both")
        await _click_at(tab, await ask(tab, "point", selector=selector))
        return
    if x is None or y is None:
        raise ActionError("click needs x and y, or a selector")
    if not (0 <= x <= 1 and 0 <= y <= 1):
        raise ActionError(f"click: x and y are shares of the window, 0 to 1, not {x:g} and {y:g}")
    size = await ask(tab, "size")
    await _click_at(tab, {"x": x * (size["width"] - 1), "y": y * (size["height"] - 1)})


async def _click_at(tab: Tab, point: dict[str, float]) -> None:
    await tab.within(tab.click(point["x"], point["y"]), "take the click")


async def _type(tab: Tab, text: str) -> None:
    keyboard = tab.page.keyboard
    text = text.replace("\r\n", "\n")
    if len(text) > _TYPED:
        await tab.within(keyboard.insert_text(text[:-1]), "take the text")
        text = text[-1]
    await tab.within(keyboard.type(text), "take the text")


async def _press_key(tab: Tab, key: str) -> None:
    from playwright.async_api import Error

    async def press() -> str:
        try:
            await tab.page.keyboard.press(key)
        except Error as error:
            if "Unknown key" in error.message:
                return error.message
            raise
        return ""

    if await tab.within(press(), "take the key"):
        raise ActionError(f"press_key: there is no key {key!r} (Enter, Tab, ArrowDown, Control+A)")


async def _scroll(tab: Tab, x: float, y: float) -> None:
    if not (abs(x) <= 1000 and abs(y) <= 1000):
        raise ActionError("scroll: x and y are shares of the window, 1 is a whole window")
    await ask(tab, "scrollBy", x=x, y=y)


async def _maximize(tab: Tab) -> None:
    tab.maximized = True
    await tab.within(tab.page.set_viewport_size({"width": 1920, "height": 1080}), "take the size")


async def _go_to(tab: Tab, selector: str) -> None:
    await ask(tab, "goTo", selector=selector)


async def _drag(tab: Tab, source: str, target: str) -> None:
    await ask(tab, "points", source=source, target=target)
    start = await ask(tab, "point", selector=source)
    mouse = tab.page.mouse

    async def take() -> None:
        await mouse.move(start["x"], start["y"])
        await mouse.down()
        await mouse.move(start["x"] + 6, start["y"] + 6, steps=2)

    async def drop(end: dict[str, float]) -> None:
        await mouse.move(end["x"], end["y"], steps=6)
        await mouse.move(end["x"], end["y"])
        await mouse.up()

    await tab.within(take(), "take the drag")
    try:
        end = await ask(tab, "near", selector=target)
    except ActionError:
        end = start
    await tab.within(drop(end), "take the drop")


async def _select_text(tab: Tab, selector: str, start: int, end: int) -> str:
    return str(await ask(tab, "selectText", selector=selector, start=start, end=end))


_PAGE_ACTIONS: Final[dict[str, Callable[..., Awaitable[Result]]]] = {
    "modify_text": _modify_text,
    "modify_checkbox": _modify_checkbox,
    "modify_radio": _modify_radio,
    "modify_select": _modify_select,
    "modify_range": _modify_range,
    "get_html": _get_html,
    "wait_for_element": _wait_for_element,
    "scroll_to_element": _scroll_to_element,
    "submit": _submit,
    "capture_screen": _capture_screen,
    "click": _click,
    "type": _type,
    "press_key": _press_key,
    "scroll": _scroll,
    "maximize": _maximize,
    "go_to": _go_to,
    "drag": _drag,
    "select_text": _select_text,
}
