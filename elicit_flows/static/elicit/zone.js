// Tells the service the time zone of this browser, so that the next page has its times.
"use strict";

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
const cookie = `${document.currentScript.dataset.cookie}=${zone}`;
if (zone && !document.cookie.split("; ").includes(cookie)) {
  document.cookie = `${cookie}; path=/; max-age=31536000; samesite=lax${location.protocol === "https:" ? "; secure" : ""}`;
}
