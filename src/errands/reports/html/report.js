// Shows the page of the chosen step in a frame that can run nothing and load nothing.
(() => {
  "use strict";
  const GONE = "script,noscript,template,link,base,meta,iframe,frame,object,embed,applet,audio,video,source,track";
  const KEPT = /^\s*data:image\//i;
  const ADDRESSES = new Set(["src", "srcset", "href", "xlink:href", "action", "formaction", "background", "poster", "data", "ping"]);
  const quiet = (css) => css.replace(/@import[^;]*(;|$)/gi, "").replace(/url\(\s*(?!['"]?data:image\/)[^)]*\)/gi, "url()");

  // Handlers go before the page is parsed: they could not run, but the console would be told.
  const unhandled = (html) =>
    html.replace(/<[a-z](?:"[^"]*"|'[^']*'|[^<>"'])*>/gi, (tag) =>
      tag.replace(/("[^"]*"|'[^']*')|[\s/]on[a-z]+\s*=\s*(?:"[^"]*"|'[^']*'|[^\s>]+)/gi, (all, quoted) => quoted ?? " "));

  // A parsed document is inert; what would only fail in the frame is taken out here.
  const cleaned = (html, sheets) => {
    const page = new DOMParser().parseFromString(unhandled(html), "text/html");
    for (const node of page.querySelectorAll(GONE)) node.remove();
    for (const node of page.querySelectorAll("style[data-sheet]")) node.textContent = sheets[Number(node.dataset.sheet)] || "";
    for (const node of page.querySelectorAll("style")) node.textContent = quiet(node.textContent);
    for (const node of page.querySelectorAll("*")) {
      for (const { name, value } of [...node.attributes]) {
        const low = name.toLowerCase();
        if (low.startsWith("on") || low === "srcdoc" || low === "autofocus") node.removeAttribute(name);
        else if (low === "style") node.setAttribute(name, quiet(value));
        else if (ADDRESSES.has(low) && !KEPT.test(value)) {
          if (low === "href") node.setAttribute(name, "#");
          else node.removeAttribute(name);
        }
      }
    }
    const still = page.createElement("style");
    still.textContent = "a,button,input,label,select,textarea,summary{pointer-events:none!important}";
    (page.head || page.documentElement).append(still);
    const head = `<!DOCTYPE html><meta charset="utf-8"><meta http-equiv="Content-Security-Policy" content="PAGE_POLICY">`;
    return head + page.documentElement.outerHTML;
  };

  const unpacked = async (block) => {
    const bytes = Uint8Array.from(atob(block), (letter) => letter.charCodeAt(0));
    const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    const pages = [];
    let before = "";
    for (const [start, end, middle] of JSON.parse(await new Response(stream).text())) {
      before = before.slice(0, start) + middle + before.slice(before.length - end);
      pages.push(before);
    }
    return pages;
  };

  const packed = new Map();
  let sheetBlock;
  const show = async (replay) => {
    const block = replay.querySelector(":scope > .packed");
    const chosen = replay.querySelector(":scope > input:checked");
    if (!block || !chosen) return;
    const page = replay.querySelector(":scope > .p" + chosen.dataset.page);
    if (!page || page.dataset.doc === undefined || page.querySelector("iframe")) return;
    if (!packed.has(replay)) packed.set(replay, unpacked(block.textContent));
    const pages = await packed.get(replay);
    const sheets = await (sheetBlock ||= unpacked(document.querySelector("#sheets").textContent));
    if (page.querySelector("iframe")) return;
    const frame = document.createElement("iframe");
    frame.setAttribute("sandbox", "");
    frame.title = "The page";
    frame.tabIndex = -1;
    frame.srcdoc = cleaned(pages[Number(page.dataset.doc)], sheets);
    const text = page.querySelector("details.raw");
    if (text) text.open = false;
    page.prepend(frame);
    const note = page.querySelector(".only");
    if (note) note.remove();
  };
  const inside = (event) => {
    const replay = event.target.closest(".replay") || event.target.querySelector(":scope > .replay");
    if (replay) show(replay).catch(() => undefined);
  };
  document.addEventListener("change", inside);
  document.addEventListener("toggle", (event) => event.target.open && event.target.matches(".episode") && inside(event), true);
  // A link may lead to an episode, or to the filter of a list; both lie in what is folded.
  const arrive = () => {
    const target = document.getElementById(location.hash.slice(1));
    if (!target || !target.matches(".episode, .filter")) return;
    if (target.matches(".filter")) target.checked = true;
    else {
      const all = target.parentElement.querySelector(".f-all");
      if (all) all.checked = true;
      target.open = true;
    }
    target.closest("details.run").open = true;
    (target.matches(".filter") ? target.closest("details.run") : target).scrollIntoView();
  };
  addEventListener("hashchange", arrive);
  document.addEventListener("click", (event) => event.target.closest && event.target.closest("a[href^='#']") && setTimeout(arrive));
  arrive();
  for (const replay of document.querySelectorAll(".alone > .replay")) show(replay).catch(() => undefined);
})();
