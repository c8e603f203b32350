// Runs in a task's page, after the guard. Fills in what was kept of an earlier visit, marks what is
// required, and talks to the page around the task: how high the task is, what is filled in, and
// "submit" the other way. The argument is the draft: the values of each field by its name.
(draft) => {
  "use strict";
  const around = window.parent;
  const tell = (message) => around.postMessage(message, "*");
  // What scripts keep is theirs, and a password is nobody's to keep.
  const unkept = new Set(["hidden", "password", "file", "submit", "button", "reset", "image"]);
  const fields = () => [...document.querySelectorAll("input, select, textarea")]
    .filter((one) => one.name && !unkept.has(one.type));
  const isTick = (one) => one.type === "checkbox" || one.type === "radio";

  const filledIn = () => {
    const values = new Map();
    for (const one of fields()) {
      const own = values.get(one.name) ?? [];
      values.set(one.name, own);
      if (one.type === "select-multiple") {
        own.push(...[...one.selectedOptions].map((option) => option.value));
      } else if (!isTick(one) || one.checked) {
        own.push(one.value);
      }
    }
    return Object.fromEntries(values);
  };

  const changed = (one) => {
    for (const name of ["input", "change"]) {
      one.dispatchEvent(new Event(name, { bubbles: true }));
    }
  };
  const filled = new WeakSet();
  const fillIn = () => {
    const places = new Map();
    for (const one of fields()) {
      const kept = Object.hasOwn(draft, one.name) ? draft[one.name] : null;
      const place = places.get(one.name) ?? 0;
      places.set(one.name, place + 1);
      if (kept === null || filled.has(one)) {
        continue;
      }
      filled.add(one);
      if (isTick(one)) {
        const isKept = kept.includes(one.value);
        if (isKept !== one.checked) {
          // A click, which scripts listen to; a button of a group cannot be clicked off.
          if (isKept || one.type === "checkbox") {
            one.click();
          } else {
            one.checked = false;
            changed(one);
          }
        }
      } else if (one.type === "select-multiple") {
        for (const option of one.options) {
          option.selected = kept.includes(option.value);
        }
        changed(one);
      } else if (place < kept.length && one.value !== kept[place]) {
        one.value = kept[place];
        changed(one);
      }
    }
  };

  const markRequired = () => {
    const groups = new Set();
    for (const one of fields()) {
      if (!(one.required || one.getAttribute("aria-required") === "true")) {
        continue;
      }
      if (one.type === "radio") {
        if (groups.has(one.name)) {
          continue;
        }
        groups.add(one.name);
      }
      const legend = one.type === "radio" && one.closest("fieldset")?.querySelector("legend");
      const marked = legend || one.labels?.[0] || one;
      marked.setAttribute("data-errands-required", "");
      groups.add(one);
    }
    return groups.size;
  };

  let height = 0;
  let shrunkFrom = 0;
  let excess = 0;
  let repeats = 0;
  const measure = () => {
    const root = document.documentElement;
    const bar = window.innerHeight - root.clientHeight;
    let needed = root.scrollHeight;
    if (needed <= root.clientHeight) {
      const margin = parseFloat(getComputedStyle(document.body).marginBottom) || 0;
      needed = Math.ceil(document.body.getBoundingClientRect().bottom + window.scrollY + margin);
    }
    needed += bar;
    if (needed < height) {
      // What sticks out of the body is missed here: when it came back once, it stays.
      if (height - needed < 24 || height === shrunkFrom) {
        return;
      }
      shrunkFrom = height;
    }
    if (needed > height) {
      // A task that is as high as its window would grow with it forever, by the same each time.
      repeats = needed - window.innerHeight === excess ? repeats + 1 : 0;
      excess = needed - window.innerHeight;
    }
    if (needed !== height && repeats < 3) {
      height = needed;
      tell({ errands: "height", height });
    }
  };

  const ready = () => {
    const style = document.createElement("style");
    style.textContent = `[data-errands-required]::after { content: " *"; color: #b3261e; }
      :is(input, select, textarea)[data-errands-required] { box-shadow: inset 3px 0 #b3261e; }`;
    document.head.append(style);
    // The page around has one that stays in sight; ours is for those without scripts.
    const own = document.querySelector("[data-errands-submit]");
    if (own && around !== window && !own.firstElementChild.disabled) {
      own.style.display = "none";
    }
    const isKept = Object.keys(draft).length > 0;
    fillIn();
    let last = JSON.stringify(filledIn());
    const look = () => {
      const now = filledIn();
      const text = JSON.stringify(now);
      if (text !== last) {
        last = text;
        tell({ errands: "draft", draft: now });
      }
    };
    if (isKept) {
      // Scripts may make more fields in reply.
      const late = new MutationObserver(() => { fillIn(); last = JSON.stringify(filledIn()); });
      late.observe(document.body, { childList: true, subtree: true });
      setTimeout(() => late.disconnect(), 3000);
      tell({ errands: "restored" });
    }
    // A click may be answered by a script, a moment later.
    for (const name of ["input", "change"]) {
      document.addEventListener(name, look);
    }
    document.addEventListener("click", () => { repeats = 0; setTimeout(look, 50); });
    tell({ errands: "ready", required: markRequired() });
    measure();
    new ResizeObserver(measure).observe(document.body);
    // What lies outside of the body's box is not observed.
    setInterval(() => { markRequired(); measure(); }, 1000);
  };
  window.addEventListener("load", ready);
  document.addEventListener("invalid", () => tell({ errands: "invalid" }), true);
  window.addEventListener("submit", (event) => {
    if (!event.defaultPrevented) {
      tell({ errands: "sending" });
    }
  });

  window.addEventListener("message", (event) => {
    if (event.source !== around || event.data !== "errands:submit") {
      return;
    }
    const forms = [...document.forms];
    const form = forms.find((one) => one.id === "mturk_form")
      ?? forms.find((one) => /^\/frame\/|externalSubmit/.test(one.getAttribute("action")))
      ?? forms[0];
    if (!form) {
      return;
    }
    // The task's own button, so that its own checks run.
    const buttons = [...document.querySelectorAll("input, button")]
      .filter((one) => one.form === form && one.type === "submit" && !one.disabled);
    const button = buttons.find((one) => one.id === "submitButton") ?? buttons.at(-1);
    if (button) {
      button.click();
    } else {
      form.requestSubmit();
    }
  });
}
