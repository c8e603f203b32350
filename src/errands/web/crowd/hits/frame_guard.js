// Runs before a task's own code. No policy that browsers know keeps peer connections from the
// network, so a task does without them, also in frames that it might make of its own text.
// Storage and cookies, which a sandboxed page may not have, are there but forget everything.
(() => {
  "use strict";
  // The page around a frame keeps it from leaving. Where there is none (and the browser did not
  // tell the server so), there is no task either.
  if (window.parent === window) {
    window.stop();
    document.replaceChildren();
    return;
  }
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel",
                      "RTCIceTransport", "WebTransport"]) {
    delete window[name];
    Object.defineProperty(window, name, { value: undefined });
  }
  const forgetful = () => Object.create({
    getItem(key) { return Object.hasOwn(this, key) ? String(this[key]) : null; },
    setItem(key, value) { this[key] = String(value); },
    removeItem(key) { delete this[key]; },
    clear() { for (const key of Object.keys(this)) { delete this[key]; } },
    key(place) { return Object.keys(this)[place] ?? null; },
    get length() { return Object.keys(this).length; },
  });
  for (const name of ["localStorage", "sessionStorage"]) {
    Object.defineProperty(window, name, { value: forgetful(), configurable: true });
  }
  Object.defineProperty(document, "cookie", { get: () => "", set: () => {}, configurable: true });
  // Everything that is called below is taken now: a task may put functions of its own in the
  // place of the browser's.
  const bound = (deed) => Function.prototype.call.bind(deed);
  const read = (owner, name) => bound(Object.getOwnPropertyDescriptor(owner, name).get);
  const found = bound(DocumentFragment.prototype.querySelectorAll);
  const foundHere = bound(Document.prototype.querySelectorAll);
  const count = read(NodeList.prototype, "length");
  const remove = bound(Element.prototype.remove);
  const Observer = MutationObserver;
  const observe = bound(Observer.prototype.observe);
  const inner = "iframe, frame, object, embed";
  const look = (root) => {
    const clear = () => {
      const frames = root === document ? foundHere(root, inner) : found(root, inner);
      for (let place = 0; place < count(frames); place += 1) {
        remove(frames[place]);
      }
    };
    clear();
    observe(new Observer(clear), root, { childList: true, subtree: true });
    return root;
  };
  look(document);
  const attach = bound(Element.prototype.attachShadow);
  Element.prototype.attachShadow = function (options) {
    // A copy of such a tree would be one that nobody looks at.
    const { mode, delegatesFocus = false, slotAssignment = "named" } = options;
    return look(attach(this, { mode, delegatesFocus, slotAssignment }));
  };
  // Trees that stand in markup come without a call. The page was sent without the word that makes
  // them; what scripts write into it goes through here, piece by piece.
  for (const owner of [Document, Document.prototype, Element.prototype, ShadowRoot.prototype]) {
    for (const name of Object.getOwnPropertyNames(owner)) {
      if (name.endsWith("HTMLUnsafe")) {
        delete owner[name];
      }
    }
  }
  const small = "shadowrootmode";
  const large = "SHADOWROOTMODE";
  let reached = 0;
  const harmless = (text) => {
    let said = "";
    for (let place = 0; place < text.length; place += 1) {
      const sign = text[place];
      if (sign === small[reached] || sign === large[reached]) {
        reached += 1;
      } else {
        reached = sign === "s" || sign === "S" ? 1 : 0;
      }
      if (reached === small.length) {
        said += "-";
        reached = 0;
      }
      said += sign;
    }
    if (reached >= 6) {
      // The rest may stand in the page.
      said += "-";
      reached = 0;
    }
    return said;
  };
  for (const name of ["write", "writeln"]) {
    const write = bound(Document.prototype[name]);
    Document.prototype[name] = function (...texts) {
      let text = "";
      for (let place = 0; place < texts.length; place += 1) {
        text += harmless(`${texts[place]}`);
      }
      return write(this, text);
    };
  }
  // The end of a form in a template is the end of the form around it; what stands behind it is
  // to be answered, too.
  const adopt = () => {
    for (const one of document.querySelectorAll("input, select, textarea")) {
      if (!one.form && !one.hasAttribute("form")) {
        one.setAttribute("form", "mturk_form");
      }
    }
  };
  document.addEventListener("DOMContentLoaded", adopt);
  document.addEventListener("submit", adopt, true);
  document.currentScript.remove();
})();
