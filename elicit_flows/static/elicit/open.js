// Looks whether the request is still open, and shows what became of it when it is not. And shows a secret while it is
// typed, to who wants to see it: when it is sent, the field is one that browsers do not keep.
"use strict";

const url = document.querySelector("[data-open]").dataset.open;
const link = url.replace(/\/draft$/, "");
let gone = false; // a button was pressed: the answer to it is the next page

document.addEventListener("submit", () => (gone = true));
for (const box of document.querySelectorAll("[data-shows]")) {
  const field = document.getElementById(box.dataset.shows);
  const hide = () => (field.type = "password");
  box.closest("[hidden]").hidden = false;
  box.addEventListener("change", () => (box.checked ? (field.type = "text") : hide()));
  document.addEventListener("submit", () => ((box.checked = false), hide()));
}
window.addEventListener("pageshow", (event) => (gone &&= !event.persisted));

async function look() {
  if (!document.hidden && !gone) {
    try {
      const answer = await fetch(url, { cache: "no-store" });
      if (answer.ok && !(await answer.json()).open && !gone) return location.replace(link);
    } catch {
      // no connection just now: ask again later
    }
  }
  setTimeout(look, 5000);
}

setTimeout(look, 5000);
