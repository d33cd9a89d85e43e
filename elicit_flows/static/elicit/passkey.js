// Asks the device for a passkey when the button is pressed, and sends its answer with the form.
"use strict";

const form = document.querySelector("form[data-ceremony]");
const trouble = document.getElementById("trouble");
const creates = form.dataset.ceremony === "create";

function say(what) {
  trouble.textContent = trouble.dataset[what];
  trouble.hidden = false;
}

async function ask() {
  const options = JSON.parse(form.dataset.options);
  const given = creates
    ? await navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(options) })
    : await navigator.credentials.get({ publicKey: PublicKeyCredential.parseRequestOptionsFromJSON(options) });
  return JSON.stringify(given.toJSON());
}

form.addEventListener("submit", async (event) => {
  event.preventDefault();
  trouble.hidden = true;
  if (!window.PublicKeyCredential?.parseRequestOptionsFromJSON) return say("old");
  try {
    form.elements.credential.value = await ask();
  } catch {
    return say("no"); // the person said no, took too long, or has none: the browser does not tell which
  }
  form.submit();
});
