// Comfort for those whose browser runs scripts; every page works without it.
(() => {
  "use strict";

  // A task's frame says that its answers were taken. It may say so wrongly: the page that is
  // asked for then looks for itself.
  const frame = document.querySelector("iframe.task[data-then]");
  if (frame) {
    window.addEventListener("message", (event) => {
      if (event.source === frame.contentWindow && event.data === "errands:submitted") {
        window.location.assign(frame.dataset.then);
      }
    });
  }

  // Who comes back from the shop's tab sees at once whether the errand is done.
  const again = document.querySelector("a[data-look-again]");
  if (again) {
    document.addEventListener("visibilitychange", () => {
      const code = document.querySelector("#code");
      if (!document.hidden && !(code && code.value)) {
        window.location.assign(again.href);
      }
    });
  }
})();
