"""The lists of the admin on a phone: nothing scrolls sideways, and each cell says which column it is in."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from django.contrib import admin
from django.contrib.admin.models import LogEntry
from django.contrib.auth.models import Group
from django.contrib.auth.models import User as Operator
from django.db.models import Model
from django.test import Client
from pytest_django import Settings

from elicit_flows.admin.audit_log import record_for_model
from elicit_flows.admin.base import list_url
from elicit_flows.models import Payment
from tests.admin.rows import Rows
from tests.admin.test_accessibility import WIDEST_IDS, fill
from tests.support.browser import User
from tests.support.serving import Served, hang_up
from tests.web.gallery_axe import DESKTOP, PHONE

# The column that says how a row stands; the lists of Group, Brand, Event and LogEntry have none.
STATES = {"status", "stands", "became", "enabled", "is_active"}
TABLETS = (600, 768, 1024)
# What is wider than the place that it is in, and what ends beyond the window.
WIDE = """() => [...document.querySelectorAll('html, .results, #changelist, #changelist *')].filter(one => {
  const { right } = one.getBoundingClientRect();
  return one.scrollWidth > one.clientWidth + 1 && one.matches('html, .results') || right > innerWidth + 1;
}).map(one => one.outerHTML.slice(0, 120))"""
# By row: each cell's column, the name that it is shown under, and the height at which it stands.
SHOWN = """() => {
  const heads = [...document.querySelectorAll('#result_list thead th')].map(one => one.innerText.trim().toLowerCase());
  return [...document.querySelectorAll('#result_list tbody tr')].map(row => [...row.cells].flatMap((cell, at) => {
    const label = getComputedStyle(cell, '::before').content.replace(/^"|"$/g, '');
    return cell.matches('.action-checkbox') ? [] : [[heads[at], label === 'none' ? '' : label.toLowerCase(),
      Math.round(cell.getBoundingClientRect().top)]];
  }));
}"""

# The names of columns in which a word takes more than one line.
BROKEN = r"""() => {
  const ruler = document.createElement('canvas').getContext('2d');
  return [...document.querySelectorAll('#result_list tbody [data-label]')].filter(cell => {
    const { fontWeight, fontSize, fontFamily } = getComputedStyle(cell, '::before');
    ruler.font = `${fontWeight} ${fontSize} ${fontFamily}`;
    const widest = Math.max(...cell.dataset.label.split(/(?<=-)|\s+/).map(word => ruler.measureText(word).width));
    return widest > parseFloat(getComputedStyle(cell).gridTemplateColumns) + 1;
  }).map(cell => cell.dataset.label);
}"""


@pytest.mark.slow
@pytest.mark.limit(200)
@pytest.mark.parametrize("language", ["en", "de", "fr", "es"])
def test_on_a_phone_each_row_of_a_list_is_a_block_whose_cells_name_their_column(
    served: Served, user: User, settings: Settings, language: str
) -> None:
    settings.ELICIT_ADMIN_SECOND_FACTOR = False

    def more() -> str:
        session = fill()[1]
        record_for_model(Operator.objects.get(), Operator, "Exported 2 rows.", None, "2 rows")
        Group.objects.get_or_create(name="Auditors")
        return session

    # Playwright's loop runs in this thread, where Django allows no queries.
    with ThreadPoolExecutor(1) as pool:
        session = pool.submit(more).result()
        hang_up(pool)
    for name, value in (("sessionid", session), (settings.LANGUAGE_COOKIE_NAME, language)):
        cookie: Any = {"name": name, "value": value, "url": served.url}
        user.context.add_cookies([cookie])
    wrong = {}
    for model in admin.site._registry:
        user.page.set_viewport_size({"width": PHONE, "height": 900})
        user.open(served.url + list_url(model))
        user.page.evaluate(WIDEST_IDS)
        rows = user.page.evaluate(SHOWN)
        assert rows, model
        assert user.page.evaluate(BROKEN) == [], model
        for row in rows:
            assert all(label == column != "" for column, label, _ in row), (model, row)
            assert [top for *_, top in row] == sorted({top for *_, top in row}), (model, "one below the other", row)
        for width in (PHONE, *TABLETS, DESKTOP):
            user.page.set_viewport_size({"width": width, "height": 900})
            if found := user.page.evaluate(WIDE):
                wrong[f"{model.__name__} at {width}"] = found[:3]
    assert wrong == {}


def test_a_list_begins_with_how_its_rows_stand() -> None:
    late = {}
    for model, page in admin.site._registry.items():
        columns = [name for name in page.list_display if name != "action_checkbox"]
        if columns[0] not in STATES and STATES & set(columns):
            late[model.__name__] = columns
    assert not late
    assert sum(page.list_display[0] in STATES for page in admin.site._registry.values()) > 12


def test_the_filters_stand_before_the_rows_and_are_open_while_they_filter(admin: Client, rows: Rows) -> None:
    address = list_url(type(rows.payment))
    for page, opened in ((admin.get(address).text, False), (admin.get(f"{address}?status__exact=paid").text, True)):
        assert page.index("changelist-filter") < page.index("result_list")
        assert page.count('id="changelist-filter"') == 1
        assert ('<details class="filters" open>' in page) == opened


@pytest.mark.parametrize(
    ("model", "name", "value"),
    [
        (Payment, "agent__id__exact", "9" * 20),
        (Payment, "agent", "9" * 20),
        (Payment, "account__lt", "-" + "9" * 20),
        (Payment, "created_at__gte", "9999-12-31 23:59:59-14:00"),
        (Payment, "created_at__lt", "0001-01-01 00:00:00+14:00"),
        (LogEntry, "user", "9" * 20),
        (Operator, "groups", "9" * 20),
    ],
)
def test_a_filter_that_no_row_can_have_leads_to_a_list(
    admin: Client, rows: Rows, model: type[Model], name: str, value: str
) -> None:
    answer = admin.get(list_url(model, **{name: value}), follow=True)
    assert answer.status_code == 200
    assert "changelist" in answer.text


def test_t52_a_name_in_a_list_stays_text(admin: Client, rows: Rows) -> None:
    """The cells are Django's, put together anew with the names of their columns."""
    name = '"><script>alert(1)</script>'
    type(rows.agent).objects.filter(pk=rows.agent.pk).update(name=name)
    page = admin.get(list_url(type(rows.agent))).text
    assert "&lt;script&gt;alert(1)" in page
    assert "<script>alert" not in page
    assert 'data-label="Name" class="field-name">' in page
