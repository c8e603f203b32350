// Whether an element is displayed, as WebDriver's check says, and where it is. It runs before
// `probe.js`, in the same world beside the page's.
(() => {
  "use strict";

  const parentOf = (element) =>
    element.parentElement ?? (element.getRootNode().host || null);

  const style = (element) => getComputedStyle(element);

  const boxOf = (element) => {
    const box = element.getBoundingClientRect();
    return { left: box.left, top: box.top, right: box.right, bottom: box.bottom,
             width: box.width, height: box.height };
  };

  // An element without an area of its own counts if something inside sticks out of it.
  const hasSize = (element) => {
    const box = boxOf(element);
    if (box.width > 0 && box.height > 0) return true;
    if (element.tagName === "path" && (box.width > 0 || box.height > 0)) {
      return parseInt(style(element).strokeWidth, 10) > 0;
    }
    if (style(element).overflow === "hidden") return false;
    return [...element.childNodes].some(
      (child) =>
        (child.nodeType === Node.TEXT_NODE && child.length > 0) ||
        (child.nodeType === Node.ELEMENT_NODE && hasSize(child)),
    );
  };

  // The ancestor that clips an element: the nearest box that positions it and is not `visible`.
  const clipperOf = (element) => {
    const position = style(element).position;
    if (position === "fixed") {
      return element === document.documentElement ? null : document.documentElement;
    }
    let parent = parentOf(element);
    while (parent) {
      const own = style(parent);
      const clips =
        parent === document.documentElement ||
        (!own.display.startsWith("inline") && own.display !== "contents" &&
          !(position === "absolute" && own.position === "static"));
      if (clips) return parent;
      parent = parentOf(parent);
    }
    return null;
  };

  // The root's overflow is the window's, as is that of a body under a plain root.
  const overflowOf = (element) => {
    const root = document.documentElement;
    const body = document.body;
    let from = element;
    if (element === root) {
      const own = style(root);
      if (own.overflowX !== "visible" || own.overflowY !== "visible") {
        return { x: own.overflowX === "visible" ? "auto" : own.overflowX,
                 y: own.overflowY === "visible" ? "auto" : own.overflowY };
      }
      from = body ?? root;
      const taken = style(from);
      return { x: taken.overflowX === "visible" ? "auto" : taken.overflowX,
               y: taken.overflowY === "visible" ? "auto" : taken.overflowY };
    }
    if (element === body && style(root).overflowX === "visible" &&
        style(root).overflowY === "visible") {
      return { x: "visible", y: "visible" };
    }
    const own = style(from);
    return { x: own.overflowX, y: own.overflowY };
  };

  const scrollOf = (element) =>
    element === document.documentElement
      ? { x: window.scrollX, y: window.scrollY }
      : { x: element.scrollLeft, y: element.scrollTop };

  const areaOf = (element) =>
    element === document.documentElement
      ? { left: 0, top: 0, right: root().clientWidth, bottom: root().clientHeight,
          width: root().clientWidth, height: root().clientHeight }
      : boxOf(element);

  const root = () => document.documentElement;

  // Is the element cut off by an ancestor, with no way to scroll it into sight?
  const cutOff = (element) => {
    const box = boxOf(element);
    for (let clipper = clipperOf(element); clipper; clipper = clipperOf(clipper)) {
      const overflow = overflowOf(clipper);
      if (overflow.x === "visible" && overflow.y === "visible") continue;
      const area = areaOf(clipper);
      if (area.width === 0 || area.height === 0) {
        if ((area.width === 0 && overflow.x !== "visible") ||
            (area.height === 0 && overflow.y !== "visible")) return true;
      }
      const scroll = scrollOf(clipper);
      const before =
        (box.right < area.left && overflow.x !== "visible") ||
        (box.bottom < area.top && overflow.y !== "visible");
      if (before) {
        if ((box.right < area.left && (overflow.x === "hidden" ||
              box.right < area.left - scroll.x)) ||
            (box.bottom < area.top && (overflow.y === "hidden" ||
              box.bottom < area.top - scroll.y))) return true;
        return false;
      }
      const beyondX = box.left >= area.left + area.width && overflow.x !== "visible";
      const beyondY = box.top >= area.top + area.height && overflow.y !== "visible";
      if (beyondX || beyondY) {
        if ((beyondX && overflow.x === "hidden") || (beyondY && overflow.y === "hidden")) {
          return true;
        }
        return false;
      }
    }
    return false;
  };

  const cutOffWhole = (element) =>
    cutOff(element) &&
    [...element.children].every((child) => cutOffWhole(child) || !hasSize(child));

  // Does the element, or one around it, hide all that is inside?
  const hides = (element) => {
    const passed = [];
    let hidden = false;
    for (let each = element; each && !hidden; each = parentOf(each)) {
      const known = judged?.get(each);
      if (known !== undefined) {
        hidden = known;
        break;
      }
      passed.push(each);
      const own = style(each);
      const parent = parentOf(each);
      hidden =
        own.display === "none" || Number(own.opacity) === 0 ||
        (parent?.tagName === "DETAILS" && !parent.open && each.tagName !== "SUMMARY");
    }
    for (const each of passed) judged?.set(each, hidden);
    return hidden;
  };

  // What `hides` said of each element, while a question is answered that changes nothing: the
  // fields of a page share most of what is around them.
  let judged = null;

  const unchanged = (work) => {
    judged = new Map();
    try {
      return work();
    } finally {
      judged = null;
    }
  };

  const displayed = (element) => {
    const tag = element.tagName;
    if (tag === "BODY") return true;
    if (tag === "OPTION" || tag === "OPTGROUP") {
      const select = element.closest("select");
      return select !== null && displayed(select);
    }
    if ((tag === "INPUT" && element.type === "hidden") || tag === "NOSCRIPT") return false;
    if (style(element).visibility !== "visible") return false;
    if (hides(element)) return false;
    return hasSize(element) && !cutOffWhole(element);
  };

  globalThis.errandsSight = { boxOf, displayed, parentOf, unchanged };
})();
