// A button that copies the text of a field. Without a secure context the text is selected, to be copied by hand.
"use strict";

for (const button of document.querySelectorAll("[data-copies]")) {
  const field = document.getElementById(button.dataset.copies);
  button.hidden = false;
  button.addEventListener("click", async () => {
    field.select();
    if (!navigator.clipboard) return;
    await navigator.clipboard.writeText(field.value);
    button.nextElementSibling.textContent = button.dataset.done;
  });
}
