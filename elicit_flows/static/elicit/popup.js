// For a site's own pages: opens a request in a popup, and hears when the person is back. How: docs/how-to/popup.md
// A popup cannot be watched: the pages of Elicit Flows cut every tie to the window that opened them, so that it looks
// closed at once. The page at the return address tells the others of its site instead.
const NAME = "elicit-flows";

// Call it in the click. url: the request's, or a promise of it. onReturn: called once, when the person is back.
// Where popups are blocked, and on phones, the request takes this page's place.
export function openRequest(url, onReturn) {
  const small = matchMedia("(pointer: coarse), (max-width: 640px)").matches;
  const popup = small ? null : window.open("about:blank", "_blank", "popup,width=520,height=760");
  const channel = new BroadcastChannel(NAME);
  channel.onmessage = () => {
    channel.close();
    onReturn?.();
  };
  return Promise.resolve(url).then(
    (link) => (popup ?? window).location.assign(link),
    (error) => {
      channel.close();
      popup?.close();
      throw error;
    },
  );
}

// Call it on the page at the return address. Closes the popup; a page that is none stays.
export function returned() {
  const channel = new BroadcastChannel(NAME);
  channel.postMessage("returned");
  channel.close();
  window.close();
}
