// Runs before a task's own code. No policy that browsers know keeps peer connections from the
// network, so a task does without them, also in frames that it might make of its own text.
// Storage and cookies, which a sandboxed page may not have, are there but forget everything.
(() => {
  "use strict";
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
  const inner = "iframe, frame, object, embed";
  const look = (root) => {
    for (const one of root.querySelectorAll(inner)) {
      one.remove();
    }
    new MutationObserver(() => {
      for (const one of root.querySelectorAll(inner)) {
        one.remove();
      }
    }).observe(root, { childList: true, subtree: true });
    return root;
  };
  look(document);
  const attach = Element.prototype.attachShadow;
  Element.prototype.attachShadow = function (options) {
    return look(attach.call(this, options));
  };
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
