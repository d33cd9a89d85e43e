// Follows a question without loading the page anew: each answer says where the next change will be told.
"use strict";

const live = document.getElementById("live");
const pause = () => new Promise((done) => setTimeout(done, 2000));

async function follow() {
  while (live.dataset.next) {
    try {
      const answer = await fetch(live.dataset.next, { cache: "no-store" });
      if (!answer.ok) throw new Error(String(answer.status));
      show(new DOMParser().parseFromString(await answer.text(), "text/html"));
    } catch {
      await pause();
    }
  }
}

function show(page) {
  const fresh = page.getElementById("live");
  if (fresh.dataset.next === live.dataset.next) return;
  const held = live.contains(document.activeElement);
  document.title = page.title;
  // The element stays and its text changes: that is what screen readers announce.
  document.getElementById("said").textContent = page.getElementById("said").textContent;
  live.replaceChildren(...fresh.childNodes);
  live.dataset.status = fresh.dataset.status;
  if (fresh.dataset.next) live.dataset.next = fresh.dataset.next;
  else delete live.dataset.next;
  document.querySelector("h1").textContent = page.querySelector("h1").textContent;
  if (held) document.querySelector("h1").focus();
}

follow();
