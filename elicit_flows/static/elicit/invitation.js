// Takes the invitation from behind the # of the address, so that it stands in no request line and in no history.
"use strict";

document.querySelector('[data-action="accept"]').elements.invitation.value = location.hash.slice(1);
history.replaceState(null, "", location.pathname);
