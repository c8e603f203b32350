"""Tasks for tests of crowd work, and how they are put up."""

import json
from typing import Any

from crowd_site import call
from shop_served import Shop

EVERY_FIELD = """\
<h1>${word}</h1>
<label>text <input type="text" name="text"></label>
<label>password <input type="password" name="password"></label>
<label>email <input type="email" name="email"></label>
<label>tel <input type="tel" name="tel"></label>
<label>url <input type="url" name="url"></label>
<label>search <input type="search" name="search"></label>
<label>number <input type="number" name="number"></label>
<label>date <input type="date" name="date"></label>
<label>time <input type="time" name="time"></label>
<label>month <input type="month" name="month"></label>
<label>week <input type="week" name="week"></label>
<label>moment <input type="datetime-local" name="moment"></label>
<label>colour <input type="color" name="colour"></label>
<label>range <input type="range" name="range" min="0" max="10"></label>
<label>textarea <textarea name="textarea"></textarea></label>
<label><input type="radio" name="radio" value="yes">yes</label>
<label><input type="radio" name="radio" value="no">no</label>
<label><input type="checkbox" name="checkbox" value="a">a</label>
<label><input type="checkbox" name="checkbox" value="b">b</label>
<label><input type="checkbox" name="checkbox" value="c">c</label>
<label><input type="checkbox" name="lone">lone</label>
<label>select <select name="select"><option value="">-<option value="s1">one<option value="s2">two
</select></label>
<label>many <select name="many" multiple><option>m1<option>m2<option>m3</select></label>
<input type="hidden" name="hidden" value="">
<script>document.querySelector("[name=hidden]").value = "by script: ${word}";</script>
"""
WORDS = b"word\nalpha\nbeta\ngamma\n"


def put_up(shop: Shop, template: str = EVERY_FIELD, csv: str = "", **terms: Any) -> int:
    """A project of the admin's; its number."""
    budget = {"budget": 1000.0} if terms.get("pay") else {}
    body = {"name": "Words", "template": template, "csv": csv or WORDS.decode(), **budget, **terms}
    made = call(shop, "POST", "/v1/office/projects", body)
    assert made.status == 201, made.text
    number: int = json.loads(made.body)["project"]["id"]
    return number


def close_all(shop: Shop) -> None:
    """Nothing of other tests is in the way."""
    listed = json.loads(call(shop, "GET", "/v1/office/projects").body)["projects"]
    for project in listed:
        call(shop, "PATCH", f"/v1/office/projects/{project['id']}", {"is_open": False})


def results(shop: Shop, project: int) -> list[dict[str, Any]]:
    answer = call(shop, "GET", f"/v1/office/projects/{project}/results")
    assert answer.status == 200
    held: list[dict[str, Any]] = json.loads(answer.body)["results"]
    return held
