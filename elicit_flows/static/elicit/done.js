// Follows the outcome: asks for this page again until it is over, and shows it when it has changed. Then goes back to
// where the agent wants the person, unless they do something here or want less motion.
"use strict";

const OPEN = ["pending", "started", "settling"];
const main = document.getElementById("main");
let wait = 1000;

function show(page) {
  const focused = main.contains(document.activeElement);
  document.title = page.title;
  document.body.dataset.status = page.body.dataset.status;
  main.replaceChildren(...page.getElementById("main").childNodes);
  if (focused) main.focus();
  leave();
}

function leave() {
  const back = main.querySelector("[data-returns]");
  if (!back || matchMedia("(prefers-reduced-motion: reduce)").matches) return;
  const note = main.querySelector("[role=status]");
  note.hidden = false;
  const timer = setTimeout(() => location.replace(back.href), 3000);
  const stay = () => {
    clearTimeout(timer);
    if (note.contains(document.activeElement)) main.focus();
    note.hidden = true;
  };
  for (const act of ["keydown", "pointerdown", "wheel", "focusin"]) document.addEventListener(act, stay, { once: true });
}

async function follow() {
  try {
    const answer = await fetch(location.href, { cache: "no-store", headers: { Accept: "text/html" } });
    if (answer.status < 429) {
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      if (page.body.dataset.page !== document.body.dataset.page) return location.reload();
      if (page.body.dataset.status !== document.body.dataset.status) {
        show(page);
        wait = 1000;
      }
    }
  } catch {
    // no connection just now: ask again later
  }
  later();
}

function later() {
  if (!OPEN.includes(document.body.dataset.status)) return;
  setTimeout(() => {
    if (!document.hidden) return follow();
    document.addEventListener("visibilitychange", follow, { once: true });
  }, wait);
  wait = Math.min(wait * 1.3, 8000);
}

leave();
later();
