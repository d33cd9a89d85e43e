// Shows what is typed in the previews of a brand. Without it, the button "Preview" does.
"use strict";

const frames = document.querySelectorAll("[data-preview]");
const form = frames[0]?.closest("form");
const shown = ["name", "legal_name", "brand", "brand_dark", "radius", "font", "support_url", "support_email", "privacy_url", "terms_url"];
let waiting;

function show() {
  for (const frame of frames) {
    const url = new URL(frame.src);
    for (const name of shown) url.searchParams.set(name, form.elements[name]?.value ?? "");
    const text = (form.elements.consent_footer?.value ?? "").split("\n")[0];
    url.searchParams.set("consent_footer", text.slice(text.indexOf(":") + 1).trim());
    if (form.elements.hide_secured_by?.checked) url.searchParams.set("hide_secured_by", "on");
    else url.searchParams.delete("hide_secured_by");
    if (frame.src !== url.href) frame.src = url.href;
  }
}

form?.addEventListener("input", () => {
  clearTimeout(waiting);
  waiting = setTimeout(show, 400);
});
