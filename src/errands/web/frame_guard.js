// Runs before a task's own code. No policy that browsers know keeps peer connections from the
// network, so a task does without them, also in frames that it might make of its own text.
(() => {
  "use strict";
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "RTCDataChannel",
                      "RTCIceTransport", "WebTransport"]) {
    delete window[name];
    Object.defineProperty(window, name, { value: undefined });
  }
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
  document.currentScript.remove();
})();
