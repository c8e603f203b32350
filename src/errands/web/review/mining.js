// Keys for the buttons; the pages work without.
(() => {
  "use strict";
  const also = { " ": "d" };
  document.addEventListener("keydown", (event) => {
    if (event.altKey || event.ctrlKey || event.metaKey || event.repeat) return;
    const focused = event.target.closest && event.target.closest("a,button,input,summary");
    // Enter and space belong to what is focused.
    if (focused && (event.key === "Enter" || event.key === " ")) return;
    const key = also[event.key] || event.key.toLowerCase();
    const button = key === "enter" || key === "a"
      ? document.querySelector(".choice.proposed")
      : [...document.querySelectorAll("[data-key]")].find((one) => one.dataset.key === key);
    if (!button) return;
    event.preventDefault();
    button.click();
  });
})();
