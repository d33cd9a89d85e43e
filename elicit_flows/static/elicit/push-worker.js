// Shows that a request waits, in a window of the system, and opens it when that is pressed. It does nothing else.
"use strict";

self.addEventListener("push", (event) => {
  const said = event.data.json();
  const options = { body: said.body, lang: said.language, dir: said.direction, tag: said.id, data: said.path };
  event.waitUntil(self.registration.showNotification(said.title, options));
});

self.addEventListener("notificationclick", (event) => {
  event.notification.close();
  const url = new URL(event.notification.data, self.location.origin);
  if (url.origin === self.location.origin) event.waitUntil(self.clients.openWindow(url.href));
});
