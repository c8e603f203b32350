// Questions and deeds of the browser driver, as one object of functions. It runs in a world of
// its own beside the page's: the same document, but none of the page's globals or prototypes.
// `sight.js` and `submission.js` are there already.
(() => {
  "use strict";
  const CONTROLS = new Set(["INPUT", "SELECT", "TEXTAREA"]);
  const WRITTEN = new Set([
    "text", "textarea", "password", "email", "number", "tel", "url", "search",
  ]);
  const SET = new Set(["date", "time", "month", "week", "datetime-local", "color"]);

  const { boxOf, displayed, parentOf, unchanged } = globalThis.errandsSight;

  class Impossible extends Error {}

  // ---- Elements -------------------------------------------------------------------------

  const named = (name) => document.querySelectorAll(`[name="${CSS.escape(name)}"]`);

  const first = (name) => {
    const element = named(name)[0];
    if (!element) throw new Impossible(`The page has no element named ${quote(name)}`);
    return element;
  };

  const quote = (text) => {
    const shown = String(text);
    return JSON.stringify(shown.length > 80 ? `${shown.slice(0, 77)}...` : shown);
  };

  const list = (values) => {
    const shown = values.slice(0, 12).map(quote).join(", ");
    return values.length > 12 ? `${shown} and ${values.length - 12} more` : shown || "none";
  };

  const selected = (selector) => {
    let element;
    try {
      element = document.querySelector(selector);
    } catch {
      throw new Impossible(`${quote(selector)} is not a CSS selector`);
    }
    if (!element) throw new Impossible(`Nothing on the page matches ${quote(selector)}`);
    return element;
  };

  const typeOf = (element) =>
    element.tagName === "INPUT" ? element.type : element.tagName.toLowerCase();

  const isBox = (type) => (element) => element.tagName === "INPUT" && element.type === type;

  // ---- Questions ----------------------------------------------------------------------------

  const optionsOf = (element, all) => {
    const type = typeOf(element);
    let chosen = [];
    if (type === "select") chosen = [...element.options];
    else if (type === "radio" || type === "checkbox") chosen = [...all].filter(isBox(type));
    const values = chosen.filter((each) => !each.matches(":disabled")).map((each) => each.value);
    return [...new Set(values)];
  };

  const fields = (question) => unchanged(() => fieldsNow(question));

  const fieldsNow = ({ names, excluded }) => {
    const groups = new Map();
    for (const element of document.querySelectorAll("[name]")) {
      const name = element.getAttribute("name");
      if (!groups.has(name)) groups.set(name, []);
      groups.get(name).push(element);
    }
    const asked = names ?? [...groups.keys()];
    const found = [];
    for (const name of new Set(asked)) {
      const all = groups.get(name);
      if (name === "" || !all || excluded.includes(name)) continue;
      const element = all[0];
      if (!CONTROLS.has(element.tagName)) continue;
      const box = boxOf(element);
      found.push({
        name,
        type: typeOf(element),
        visible: displayed(element),
        options: optionsOf(element, all),
        place: [Math.round(box.top + window.scrollY), Math.round(box.left + window.scrollX)],
      });
    }
    found.sort((a, b) => a.place[0] - b.place[0] || a.place[1] - b.place[1]);
    found.sort((a, b) => Number(b.visible) - Number(a.visible));
    return found.map(({ place, ...field }) => field);
  };

  // All that is compared after an action, in one answer.
  const state = (question) => {
    const all = fields(question);
    const names = all.map(({ name }) => name);
    const byName = (attributes) => Object.fromEntries(names.map((name) => [name, held(name, attributes)]));
    return { fields: all, values: byName(false), attributes: byName(true), text: text() };
  };

  const values = ({ names, attributes }) => names.map((name) => held(name, attributes));

  const held = (name, attributes) => {
    const all = [...named(name)];
    if (all.length === 0) return [];
    const type = typeOf(all[0]);
    switch (type) {
      case "submit":
        return [];
      case "radio":
      case "checkbox":
        return all.filter(isBox(type)).filter((each) => each.checked).map((each) => each.value);
      case "select": {
        const options = attributes
          ? [...all[0].children].filter((each) => each.tagName === "OPTION" && each.selected)
          : [...all[0].selectedOptions];
        return options.map((each) => each.value);
      }
      case "textarea":
        return all
          .filter((each) => each.tagName === "TEXTAREA" && !each.readOnly)
          .map((each) => (attributes ? each.innerHTML : each.value.toWellFormed()));
      default:
        return all.map((each) =>
          attributes ? each.getAttribute("value") ?? "" : String(each.value ?? "").toWellFormed(),
        );
    }
  };

  // The whole page; or with a name its field's grandparent, the field with a mark on it.
  const html = ({ name, mark }) => {
    if (name === null) {
      const type = document.doctype;
      const start = type ? new XMLSerializer().serializeToString(type) : "";
      return start + (document.documentElement?.outerHTML ?? "");
    }
    const element = first(name);
    const top = element.parentElement?.parentElement ?? element.parentElement ?? element;
    const path = [];
    for (let each = element; each !== top; each = each.parentElement) {
      path.unshift([...each.parentElement.children].indexOf(each));
    }
    // A copy in a document that loads and runs nothing.
    const copy = document.implementation.createHTMLDocument("").importNode(top, true);
    let target = copy;
    for (const index of path) target = target.children[index];
    target.setAttribute(mark, "");
    return { html: copy.outerHTML, tag: element.tagName.toLowerCase() };
  };

  // ---- The text of the page: the same steps as `errands.turk.dom.text` ------------------------

  const IN_LINE = new Set([
    "inline", "inline-block", "inline-flex", "inline-grid", "inline-table", "contents", "ruby",
    "ruby-text", "-webkit-inline-box", "-webkit-inline-flex",
  ]);
  const REPLACED = new Set([
    "TEXTAREA", "INPUT", "IFRAME", "OBJECT", "EMBED", "VIDEO", "AUDIO", "CANVAS", "METER",
    "PROGRESS",
  ]);
  const SPACES = /[ \t\n\v\f\r\u00a0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+/g;

  const text = () => {
    const lines = [];
    let parts = [];
    const end = () => {
      const line = parts.join("").replace(SPACES, " ").replace(/^ | $/g, "");
      parts = [];
      if (line) lines.push(line);
    };
    const addText = (node, style) => {
      if (style.visibility !== "visible") return;
      if (style.whiteSpaceCollapse === "collapse") parts.push(node.data);
      else {
        const [first, ...rest] = node.data.split(/\r\n|[\n\r]/);
        parts.push(first);
        for (const line of rest) {
          end();
          parts.push(line);
        }
      }
    };
    const addOptions = (select, style) => {
      end();
      if (style.visibility !== "visible") return;
      for (const option of select.querySelectorAll("option")) {
        if (getComputedStyle(option).display === "none") continue;
        parts.push(option.textContent);
        end();
      }
    };
    const visit = (element) => {
      const style = getComputedStyle(element);
      const folded = element.parentElement?.tagName === "DETAILS" &&
        !element.parentElement.open && element.tagName !== "SUMMARY";
      if (style.display === "none" || element.tagName === "NOSCRIPT" || folded) return;
      if (element.tagName === "BR") return end();
      if (element.tagName === "SELECT") return addOptions(element, style);
      if (REPLACED.has(element.tagName)) return void parts.push(" ");
      const cell = style.display === "table-cell";
      const edge = () => {
        if (cell) parts.push(" ");
        else if (!IN_LINE.has(style.display)) end();
      };
      edge();
      for (const child of element.childNodes) {
        if (child.nodeType === Node.TEXT_NODE) addText(child, style);
        else if (child.nodeType === Node.ELEMENT_NODE) visit(child);
      }
      edge();
    };
    if (document.body) visit(document.body);
    end();
    return lines.join("\n");
  };

  const present = ({ name }) => named(name).length > 0;

  // ---- Deeds --------------------------------------------------------------------------------

  const centre = (element) => {
    const box = boxOf(element);
    return { x: box.left + box.width / 2, y: box.top + box.height / 2 };
  };

  const show = (element) =>
    element.scrollIntoView({ block: "center", inline: "nearest", behavior: "instant" });

  // Where a real click reaches the element (its own part, or its label), or null.
  const reach = (element) => {
    if (!displayed(element)) return null;
    show(element);
    const point = centre(element);
    const hit = document.elementFromPoint(point.x, point.y);
    if (!hit) return null;
    return element === hit || element.contains(hit) ? point : null;
  };

  const tell = (element, ...kinds) => {
    for (const kind of kinds) {
      element.dispatchEvent(new Event(kind, { bubbles: true, composed: kind === "input" }));
    }
  };

  const usable = (element, ...names) => {
    const name = names.map(quote).join(" ");
    if (!displayed(element)) throw new Impossible(`${name} is not displayed`);
    if (element.matches(":disabled")) throw new Impossible(`${name} is disabled`);
  };

  const startText = ({ name, value }) => {
    const element = first(name);
    const type = typeOf(element);
    if (!SET.has(type) && !WRITTEN.has(type)) {
      throw new Impossible(`${quote(name)} is a ${type} and takes no text`);
    }
    usable(element, name);
    if (element.readOnly) throw new Impossible(`${quote(name)} is read-only`);
    if (SET.has(type)) return setText(element, type, value);
    if (type === "number" && (!isNumber(value))) {
      throw new Impossible(`${quote(name)} takes a number, not ${quote(value)}`);
    }
    show(element);
    visit(element);
    return {
      set: false,
      focused: document.activeElement === element,
      lines: element.tagName === "TEXTAREA",
    };
  };

  // What a page notices when a person clicks into a text field, and all of its text selected.
  const visit = (element) => {
    const place = centre(element);
    const mouse = (kind, Kind = MouseEvent) =>
      element.dispatchEvent(new Kind(kind, {
        bubbles: true, cancelable: true, composed: true, view: window, detail: 1,
        clientX: place.x, clientY: place.y,
      }));
    mouse("pointerdown", PointerEvent);
    mouse("mousedown");
    element.focus({ preventScroll: true });
    mouse("pointerup", PointerEvent);
    mouse("mouseup");
    mouse("click", PointerEvent);
    if (document.activeElement === element) element.select();
  };

  const setText = (element, type, value) => {
    const old = element.value;
    const bare = value.trim();
    element.value = bare;
    const kept = element.value;
    if (kept === "" || (type === "color" && kept !== bare.toLowerCase())) {
      element.value = old;
      throw new Impossible(`${quote(element.name)} takes a ${type}, not ${quote(value)}`);
    }
    element.setAttribute("value", value);
    if (element.value !== kept) element.value = kept;
    tell(element, "input", "change");
    settle();
    return { set: true };
  };

  const endText = ({ name, value }) => {
    const element = named(name)[0];
    if (!element) return;
    let wanted = value.replace(/\r\n?/g, "\n");
    if (element.tagName !== "TEXTAREA") wanted = wanted.replace(/\n/g, "");
    if (element.maxLength >= 0) wanted = wanted.slice(0, element.maxLength);
    if (wanted !== "" && ["", wanted.slice(0, -1)].includes(element.value)) {
      // Typing went elsewhere (the page moved the focus, or a key was caught): written instead.
      element.value = wanted;
      tell(element, "input");
    }
    tell(element, "change");
    const live = element.value;
    if (element.tagName === "TEXTAREA") element.innerHTML = value;
    else element.setAttribute("value", value);
    if (element.value !== live) element.value = live;
    settle();
  };

  // Foldings and fadings end at once, so that what is seen after a deed does not depend on who
  // is quick. Bootstrap folds until it hears of an end, or its own time is up.
  const settle = () => {
    for (const each of document.getAnimations()) {
      try {
        each.finish();
      } catch {
        // One without an end.
      }
    }
    for (const each of document.querySelectorAll(".collapsing")) {
      for (const kind of ["transitionend", "webkitTransitionEnd"]) {
        each.dispatchEvent(new TransitionEvent(kind, { bubbles: true }));
      }
    }
  };

  // HTML's valid floating-point number; what a slider takes may have a sign or a point more.
  const isNumber = (text) =>
    /^-?(\d+(\.\d+)?|\.\d+)([eE][+-]?\d+)?$/.test(text.trim()) && Number.isFinite(Number(text));
  const isPosition = (text) =>
    /^[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?$/.test(text.trim()) && Number.isFinite(Number(text));

  const truncated = (text) =>
    /^[+-]?\d+(\.\d*)?$|^[+-]?\.\d+$/.test(text) ? String(Math.trunc(Number(text))) : null;

  const startBoxes = ({ name, wanted }) => {
    const all = [...named(name)].filter(isBox("checkbox"));
    if (all.length === 0) throw new Impossible(`The page has no check box named ${quote(name)}`);
    const among = (values) => all.flatMap((each, n) => (values.includes(each.value) ? [n] : []));
    let picked = among(wanted);
    if (picked.length === 0) {
      picked = among(wanted.map(truncated).filter((each) => each !== null));
    }
    if (picked.length === 0) {
      const values = list(all.map((each) => each.value));
      throw new Impossible(`No check box ${quote(name)} has the value ${list(wanted)}: ${values}`);
    }
    for (const n of picked) usable(all[n], name, all[n].value);
    return picked.map((index, n) => (n === 0 ? { index, ...aimAt(all[index]) } : { index }));
  };

  const startRadio = ({ name, value }) => {
    const all = [...named(name)].filter(isBox("radio"));
    if (all.length === 0) {
      throw new Impossible(`The page has no radio button named ${quote(name)}`);
    }
    const find = (wanted) => all.findIndex((each) => each.value === wanted);
    let picked = find(value);
    const whole = truncated(value);
    if (picked < 0 && whole !== null) picked = find(whole);
    if (picked < 0 && value === "") return [];
    if (picked < 0) {
      const values = list(all.map((each) => each.value));
      throw new Impossible(`No radio button ${quote(name)} has the value ${quote(value)}: ${values}`);
    }
    usable(all[picked], name, value);
    return [{ index: picked, ...aimAt(all[picked]) }];
  };

  const hasBox = ({ name }) => [...named(name)].filter(isBox("checkbox")).some((each) => each.value === "");

  const box = (type, name, index) => [...named(name)].filter(isBox(type))[index];

  const aim = ({ type, name, index }) => {
    const element = box(type, name, index);
    if (!element) return null;
    return aimAt(element);
  };

  const aimAt = (element) => ({ point: reach(element), checked: element.checked });

  // After a click, real or not: clicks by script where the real one changed nothing, and writes
  // the state into the markup.
  const endBox = ({ type, name, index, before }) => {
    const element = box(type, name, index);
    if (!element) return;
    if (element.checked === before && !(type === "radio" && before)) element.click();
    for (const each of [...named(name)].filter(isBox(type))) {
      const live = each.checked;
      if (type === "radio" || each === element) each.toggleAttribute("checked", live);
      if (each.checked !== live) each.checked = live;
    }
    settle();
  };

  const select = ({ name, value }) => {
    const element = first(name);
    if (element.tagName !== "SELECT") throw new Impossible(`${quote(name)} is not a drop-down`);
    usable(element, name);
    const options = [...element.options];
    const whole = truncated(value);
    const option =
      options.find((each) => each.value === value) ??
      options.find((each) => whole !== null && each.value === whole);
    if (!option) {
      const values = list(options.map((each) => each.value));
      throw new Impossible(`Drop-down ${quote(name)} has no option ${quote(value)}: ${values}`);
    }
    if (option.matches(":disabled") || element.matches(":disabled")) {
      throw new Impossible(`Option ${quote(value)} of ${quote(name)} is disabled`);
    }
    element.focus({ preventScroll: true });
    const changed = !option.selected;
    option.selected = true;
    for (const each of options) {
      const live = each.selected;
      each.toggleAttribute("selected", live);
      if (each.selected !== live) each.selected = live;
    }
    if (changed) tell(element, "input", "change");
    settle();
  };

  const range = ({ name, value }) => {
    const element = [...named(name)].find(isBox("range"));
    if (!element) throw new Impossible(`The page has no slider named ${quote(name)}`);
    if (!isPosition(value)) {
      throw new Impossible(`Slider ${quote(name)} takes a number, not ${quote(value)}`);
    }
    usable(element, name);
    show(element);
    const number = String(Number(value));
    element.setAttribute("value", number);
    element.value = number;
    tell(element, "input", "change");
    settle();
  };

  const scrollTo = ({ name }) => show(first(name));

  const goTo = ({ selector }) => {
    const element = selected(selector);
    show(element);
    element.focus({ preventScroll: true });
  };

  const point = ({ selector }) => {
    const element = selected(selector);
    if (!displayed(element)) throw new Impossible(`${quote(selector)} is not displayed`);
    show(element);
    return centre(element);
  };

  const points = ({ source, target }) => {
    const from = selected(source);
    const to = selected(target);
    for (const [name, each] of [[source, from], [target, to]]) {
      if (!displayed(each)) throw new Impossible(`${quote(name)} is not displayed`);
    }
  };

  // The target while something is held over it: scrolled no more than needed.
  const near = ({ selector }) => {
    const element = selected(selector);
    element.scrollIntoView({ block: "nearest", inline: "nearest", behavior: "instant" });
    return centre(element);
  };

  const scrollBy = ({ x, y }) => {
    const active = document.elementFromPoint(window.innerWidth / 2, window.innerHeight / 2);
    const across = x * window.innerWidth;
    const down = y * window.innerHeight;
    const where = () => [window.scrollX, window.scrollY].join();
    const before = where();
    window.scrollBy({ left: across, top: down, behavior: "instant" });
    // A page that does not scroll itself may have a part that does.
    for (let each = active; each && where() === before; each = parentOf(each)) {
      const place = each.scrollTop + each.scrollLeft;
      each.scrollBy({ left: across, top: down, behavior: "instant" });
      if (each.scrollTop + each.scrollLeft !== place) break;
    }
  };

  const selectText = ({ selector, start, end }) => {
    const element = selected(selector);
    if (element.tagName === "TEXTAREA" || element.tagName === "INPUT") {
      if (start < 0 || end > element.value.length || start >= end) {
        throw new Impossible(
          `${quote(selector)} has ${element.value.length} characters: 0 <= start < end is needed`);
      }
      show(element);
      element.focus({ preventScroll: true });
      element.setSelectionRange(start, end);
      element.dispatchEvent(new MouseEvent("mouseup", { bubbles: true, view: window }));
      return element.value.slice(start, end);
    }
    const length = element.textContent.length;
    if (start < 0 || end > length || start >= end) {
      throw new Impossible(
        `${quote(selector)} has ${length} characters: 0 <= start < end <= ${length} is needed`);
    }
    show(element);
    const spot = (offset, last) => {
      const walker = document.createTreeWalker(element, NodeFilter.SHOW_TEXT);
      let passed = 0;
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (offset < passed + node.length || (last && offset === passed + node.length)) {
          return [node, offset - passed];
        }
        passed += node.length;
      }
      return [element, element.childNodes.length];
    };
    const span = document.createRange();
    const from = spot(start, false);
    const to = spot(end, true);
    span.setStart(...from);
    span.setEnd(...to);
    const mouse = (kind, node, edge) => {
      const at = edge === "start" ? span.getClientRects()[0] : [...span.getClientRects()].at(-1);
      const place = at
        ? { clientX: edge === "start" ? at.left : at.right, clientY: (at.top + at.bottom) / 2 }
        : {};
      const options = { bubbles: true, cancelable: true, view: window, detail: 1, ...place };
      (node.nodeType === Node.TEXT_NODE ? node.parentElement : node)
        .dispatchEvent(new MouseEvent(kind, options));
    };
    mouse("mousedown", from[0], "start");
    const chosen = window.getSelection();
    chosen.removeAllRanges();
    chosen.addRange(span);
    const said = chosen.toString();
    mouse("mouseup", to[0], "end");
    return said;
  };

  const size = () => ({ width: window.innerWidth, height: window.innerHeight });

  const area = ({ name }) => {
    const element = first(name);
    if (!displayed(element)) throw new Impossible(`${quote(name)} is not displayed`);
    show(element);
    const box = boxOf(element);
    return { x: box.left + window.scrollX, y: box.top + window.scrollY,
             width: Math.max(1, box.width), height: Math.max(1, box.height) };
  };

  // ---- Changes --------------------------------------------------------------------------

  const NOTED = new Set(["checked", "selected"]); // What deeds themselves write into the markup.
  let before = null;

  // What a style attribute says about being shown, as `shown_style` of `pages/comparison.py`.
  const SHOWN = ["display", "float", "opacity", "visibility", "white-space"];

  const shownStyle = (text) => {
    const kept = new Map();
    for (const part of text.split(";")) {
      const [name, ...value] = part.split(":");
      if (SHOWN.includes(name.trim().toLowerCase())) {
        kept.set(name.trim().toLowerCase(), value.join(":").toLowerCase().trim().split(/\s+/).join(" "));
      }
    }
    return SHOWN.filter((name) => kept.has(name)).map((name) => `${name}: ${kept.get(name)}`).join("; ");
  };

  const shownClasses = (text) =>
    [...new Set(text.split(/\s+/).filter((each) => each && each !== "focus"))].sort().join(" ");

  const LOOKS = { style: shownStyle, class: shownClasses };

  // What holds of the elements with a mark: attributes, what controls hold, and whether an
  // element has a box. As `page_facts` of `dom/effects.py`.
  const factsNow = (mark) => {
    const now = new Map();
    for (const element of document.querySelectorAll(`[${mark}]`)) {
      const number = element.getAttribute(mark);
      if (now.has(number)) continue;
      const facts = new Map();
      for (const { name, value } of element.attributes) {
        if (name === mark || NOTED.has(name)) continue;
        facts.set(`@${name}`, LOOKS[name]?.(value) ?? value);
      }
      const none = element.tagName === "NOSCRIPT" || getComputedStyle(element).display === "none";
      facts.set("shown", !none);
      if (CONTROLS.has(element.tagName) && element.hasAttribute("name")) {
        if (isBox("radio")(element) || isBox("checkbox")(element)) {
          facts.set("checked", element.checked);
        } else if (element.tagName === "SELECT") {
          const picked = [...element.options].flatMap((each, n) => (each.selected ? [n] : []));
          facts.set("chosen", picked.join(","));
        } else facts.set("value", element.value);
      }
      now.set(number, facts);
    }
    return now;
  };

  const facts = ({ mark }) =>
    Object.fromEntries([...factsNow(mark)].map(([number, own]) => [number, Object.fromEntries(own)]));

  // What is different since the last time on elements with a mark.
  const changes = ({ mark }) => {
    const now = factsNow(mark);
    const changed = [];
    for (const [number, own] of now) {
      const old = before?.get(number) ?? own;
      for (const what of new Set([...old.keys(), ...own.keys()])) {
        const [was, is] = [old.get(what) ?? null, own.get(what) ?? null];
        if (was !== is) changed.push([Number(number), what, was, is]);
      }
    }
    before = now;
    return { named: document.querySelectorAll("[name], option").length, changed };
  };

  const functions = {
    changes, facts, settle, state, fields, values, html, text, present, startText, endText, startBoxes, startRadio,
    hasBox, aim, endBox, select, range, scrollTo, scrollBy, goTo, point, points, near, selectText, size,
    area, submission: globalThis.errandsSubmission,
  };

  globalThis.errandsAsk = (name, question) => {
    try {
      return JSON.stringify({ answer: functions[name](question) ?? null });
    } catch (error) {
      const impossible = error instanceof Impossible;
      return JSON.stringify({ impossible, error: String(error?.message ?? error) });
    }
  };
})();
