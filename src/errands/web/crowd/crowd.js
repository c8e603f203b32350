// Comfort for those whose browser runs scripts; every page works without it.
(() => {
  "use strict";

  // A task's frame says that its answers were taken. It may say so wrongly: the page that is
  // asked for then looks for itself. It is believed once, or a frame that says so again and
  // again would keep its worker from Return.
  const frame = document.querySelector("iframe.task[data-then]");
  if (frame) {
    window.addEventListener("message", (event) => {
      const mark = `followed ${window.location.pathname}`;
      const isSaid = event.source === frame.contentWindow && event.data === "errands:submitted";
      if (isSaid && !window.sessionStorage.getItem(mark)) {
        window.sessionStorage.setItem(mark, "1");
        window.location.assign(frame.dataset.then);
      }
    });
  }

  // Who comes back from the shop's tab sees at once whether the assignment is done.
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
