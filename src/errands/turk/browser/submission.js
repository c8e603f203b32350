// What a page sends when it is submitted, as one function: the form's button is pressed, the
// page's handlers run, and the page stays (`guard.js` sees to that). In the same world as
// `probe.js`. Names of controls shadow what a form has of its own, so that is taken from the
// prototypes.
(() => {
  "use strict";
  const CONTROLS = new Set(["INPUT", "SELECT", "TEXTAREA"]);
  const { hasAttribute, setAttribute, removeAttribute } = Element.prototype;
  const { requestSubmit } = HTMLFormElement.prototype;

  const typeOf = (element) =>
    element.tagName === "INPUT" ? element.type : element.tagName.toLowerCase();

  // The page's own, of several the last; the one that the server adds to previews where there is
  // no other. A button without a type submits, too, but is often meant for something else.
  const buttonOf = (form) => {
    const says = (each) => /submit/i.test(`${each.textContent} ${each.id} ${each.name}`);
    const all = [...document.querySelectorAll("input[type=submit], button")]
      .filter((each) => each.form === form && each.type === "submit")
      .filter((each) => each.hasAttribute("type") || says(each));
    const own = all.filter((each) => !(each.id === "submitButton" && each.disabled));
    return own.at(-1) ?? all.at(-1);
  };

  const withoutAttribute = (element, name, work) => {
    const value = element.getAttribute(name);
    element.removeAttribute(name);
    try {
      work();
    } finally {
      if (value !== null) element.setAttribute(name, value);
    }
  };

  // The server disables its button in a preview; for a worker who has accepted the task it is not.
  const press = (form) => {
    const checked = !hasAttribute.call(form, "novalidate");
    if (checked) setAttribute.call(form, "novalidate", "");
    try {
      const button = buttonOf(form);
      if (button) withoutAttribute(button, "disabled", () => button.click());
      else requestSubmit.call(form);
    } finally {
      if (checked) removeAttribute.call(form, "novalidate");
    }
  };

  globalThis.errandsSubmission = ({ names, excluded, unsent }) => {
    const form = document.querySelector("form");
    if (!form) return [];
    press(form);
    const fields = new Map();
    for (const element of document.querySelectorAll("[name]")) {
      const name = element.getAttribute("name");
      const part = CONTROLS.has(element.tagName) && element.form === form && !fields.has(name);
      if (part && !element.matches(":disabled") && !unsent.includes(typeOf(element))) {
        fields.set(name, { type: typeOf(element), values: [] });
      }
    }
    for (const [name, value] of new FormData(form)) {
      if (typeof value !== "string") continue;
      if (!fields.has(name)) fields.set(name, { type: "hidden", values: [] });
      fields.get(name).values.push(value);
    }
    return [...fields]
      .filter(([name]) => name && !excluded.includes(name) && (names?.includes(name) ?? true))
      .map(([name, field]) => ({ name, ...field }));
  };
})();
