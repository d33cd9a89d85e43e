// Keeps what is written, question by question, and shows what is written in other windows.
"use strict";

const note = document.getElementById("draft");
const form = note.closest("form");
const dirty = new Map(); // by the question's name: how often it was written to since it was kept
let seen = Number(form.elements.seen.value);
let wait = 1000;
let timer;
let sent = false; // then its answer is the next page

// A page that was refused came by POST: its own address must not be loaded again.
const again = () => {
  if (!sent) location.replace(note.dataset.url.replace(/\/draft$/, ""));
};

const question = (name) => form.querySelector(`[data-name="${name}"]`);

const belongs = (name, control) => control === name || control.startsWith(`${name}-`);

function typed(name) {
  const body = new URLSearchParams({ question: name, asked: form.elements.asked.value });
  body.set("page", form.elements.page.value);
  body.set("csrfmiddlewaretoken", form.elements.csrfmiddlewaretoken.value);
  for (const [control, value] of new FormData(form)) if (belongs(name, control)) body.append(control, value);
  return body;
}

// Half a day, or one that there is not.
const unread = (within) => [...within.querySelectorAll("input")].find((one) => one.validity.badInput);

async function keep(name) {
  if (unread(question(name))) return;
  const times = dirty.get(name);
  let answer;
  try {
    answer = await fetch(note.dataset.url, { method: "POST", body: typed(name) });
  } catch {
    answer = { ok: false, status: 503 };
  }
  if (answer.status === 403 || answer.status === 410) return again();
  if (!answer.ok && answer.status !== 422 && answer.status !== 400) {
    if (answer.status >= 500) note.textContent = note.dataset.away;
    return setTimeout(keep, 3000, name);
  }
  note.textContent = answer.ok ? note.dataset.kept : "";
  if (dirty.get(name) === times) dirty.delete(name);
}

const timers = new Map();
function written(event) {
  const zone = form.elements[`${event.target.name}-zone`];
  if (zone) setZone(zone);
  const name = event.target.closest("[data-name]")?.dataset.name;
  if (!name) return;
  dirty.set(name, (dirty.get(name) ?? 0) + 1);
  clearTimeout(timers.get(name));
  timers.set(name, setTimeout(keep, 500, name));
}

// Whether anything on the page was other than that.
function put(controls) {
  let changed = false;
  for (const [control, values] of Object.entries(controls)) {
    for (const one of form.querySelectorAll(`[name="${control}"]`)) {
      if (one.type === "radio" || one.type === "checkbox") {
        const on = values.length ? values.includes(one.value) : one.type === "radio" && one.value === "";
        changed ||= one.checked !== on;
        one.checked = on;
      } else if (one.value !== (values[0] ?? "") && !(control.endsWith("-zone") && !values.length)) {
        one.value = values[0] ?? "";
        if (one.here) one.here = here(one);
        if (one.value && one.closest("details")) one.closest("details").open = true;
        changed = true;
      }
    }
  }
  return changed;
}

async function follow() {
  clearTimeout(timer);
  try {
    const answer = await fetch(`${note.dataset.url}?${new URLSearchParams({ after: seen, page: form.elements.page.value })}`, { cache: "no-store" });
    if (answer.status === 403) return again();
    if (answer.ok) show(await answer.json());
  } catch {
    // no connection just now: ask again later
  }
  later();
}

function show(draft) {
  if (!draft.open || draft.asked !== form.elements.asked.value) return again();
  const shown = Object.entries(draft.controls).filter(([name]) => !dirty.has(name));
  const changed = shown.filter(([, controls]) => put(controls)).map(([name]) => question(name));
  if (changed.length) {
    const labels = changed.map((one) => one.querySelector("legend, label").textContent.trim());
    note.textContent = `${note.dataset.changed} ${labels.join(", ")}`;
    wait = 1000;
  }
  // What is written here just now is not shown: it stays newer than what was seen until it is kept.
  if (shown.length === Object.keys(draft.controls).length) form.elements.seen.value = seen = draft.seq;
}

function later() {
  timer = setTimeout(() => {
    if (!document.hidden) return follow();
    document.addEventListener("visibilitychange", follow, { once: true });
  }, wait);
  wait = Math.min(wait * 1.2, 4000);
}

// A time is meant as clocks go here on its day, until another is chosen.
function here(zone) {
  const time = form.elements[zone.name.slice(0, -5)].value || Date.now();
  const east = -new Date(time).getTimezoneOffset();
  return (east < 0 ? "-" : "+") + new Date(Math.abs(east) * 6e4).toISOString().slice(11, 16);
}

function setZone(zone) {
  const now = here(zone);
  if (!zone.querySelector(`[value="${now}"]`)) return; // a half-typed year
  if (zone.value === zone.here) zone.value = now;
  zone.here = now;
}

for (const zone of form.querySelectorAll('[name$="-zone"]')) {
  zone.here = "here" in zone.dataset ? zone.value : here(zone);
  setZone(zone);
}

note.textContent = note.dataset.kept;
form.addEventListener("input", written);
form.addEventListener("change", written);
form.addEventListener("submit", (event) => {
  const bad = unread(form); // it must not go for one left empty
  if (bad) {
    event.preventDefault();
    bad.reportValidity();
  } else {
    sent = true;
    timers.forEach(clearTimeout);
  }
});
// Shown again on the way back.
window.addEventListener("pageshow", (event) => (sent &&= !event.persisted));
later();
