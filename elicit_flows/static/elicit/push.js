// Asks the browser for messages when the button is pressed, and not before; its answer is sent with the form.
"use strict";

const form = document.querySelector("form[data-push-key]");
const trouble = document.getElementById("push-trouble");

function say(what) {
  trouble.textContent = trouble.dataset[what];
  trouble.hidden = false;
}

async function ask() {
  const worker = await navigator.serviceWorker.register(form.dataset.worker);
  const text = atob(form.dataset.pushKey.replaceAll("-", "+").replaceAll("_", "/"));
  const applicationServerKey = Uint8Array.from(text, (one) => one.charCodeAt(0));
  // One that was made for another key, by an installation before this one, would be refused.
  await (await worker.pushManager.getSubscription())?.unsubscribe();
  return (await worker.pushManager.subscribe({ userVisibleOnly: true, applicationServerKey })).toJSON();
}

if (navigator.serviceWorker && window.PushManager && window.Notification) {
  form.hidden = false;
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    trouble.hidden = true;
    // This is the press that the browser wants to see before it asks.
    if ((await Notification.requestPermission()) !== "granted") return say("no");
    try {
      const { endpoint, keys } = await ask();
      form.elements.endpoint.value = endpoint;
      form.elements.p256dh.value = keys.p256dh;
      form.elements.auth.value = keys.auth;
    } catch {
      return say("failed"); // its push service cannot be reached
    }
    form.submit();
  });
} else {
  say("old");
}
