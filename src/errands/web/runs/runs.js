// A few comforts; all pages work without them: arrow keys, and figures that move while a run is on.
(() => {
  "use strict";
  const live = document.getElementById("live");
  if (live && "EventSource" in window) {
    const source = new EventSource(live.dataset.events);
    source.addEventListener("progress", (event) => {
      // Markup of the server's own making, in which all foreign text is escaped.
      live.innerHTML = JSON.parse(event.data).html;
    });
    source.addEventListener("end", () => {
      source.close();
      location.reload();
    });
  }
  // A list with runs in progress is fetched anew, unless somebody is busy in it.
  const main = document.getElementById("main");
  if (main && main.dataset.again && !live) {
    setInterval(async () => {
      if (document.hidden || main.querySelector(":checked:not(option)") || main.contains(document.activeElement)) return;
      const answer = await fetch(location.href).catch(() => undefined);
      if (!answer || !answer.ok) return;
      const fresh = new DOMParser().parseFromString(await answer.text(), "text/html").getElementById("main");
      if (fresh) main.innerHTML = fresh.innerHTML;
    }, Number(main.dataset.again) * 1000);
  }
  const keys = { ArrowRight: "next", ArrowLeft: "prev" };
  document.addEventListener("keydown", (event) => {
    const way = keys[event.key];
    if (!way || event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (event.target.closest && event.target.closest("input,select,textarea,pre,.scroll,iframe")) return;
    const link = document.querySelector(`.walk a[rel="${way}"]`);
    if (!link) return;
    event.preventDefault();
    location.assign(link.href);
  });
})();
