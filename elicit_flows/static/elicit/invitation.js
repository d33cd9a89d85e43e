// Takes the invitation from behind the # of the address, so that it stands in no request line and in no history. The tab
// keeps it for when the page is loaded again, as after a change of the language.
"use strict";

const invitation = location.hash.slice(1) || sessionStorage.getItem("invitation") || "";
document.querySelector('[data-action="accept"]').elements.invitation.value = invitation;
sessionStorage.setItem("invitation", invitation);
history.replaceState(null, "", location.pathname);
