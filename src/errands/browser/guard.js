// Runs in every frame before the page's own scripts: the page cannot open windows, raise
// dialogs or leave, and meets the same clock and the same chance each time.
(() => {
  "use strict";
  const settings = __SETTINGS__;

  // A clock that starts at a fixed instant and runs at real speed (animations end by it).
  const RealDate = Date;
  const started = RealDate.now();
  const now = () => settings.clock + (RealDate.now() - started);
  if (settings.clock !== null) {
    class PageDate extends RealDate {
      constructor(...args) {
        if (args.length === 0) super(now());
        else super(...args);
      }
      static now() {
        return now();
      }
    }
    const callable = new Proxy(PageDate, {
      apply: () => new PageDate().toString(),
    });
    PageDate.prototype.constructor = callable;
    window.Date = callable;
  }

  // A small generator of random numbers (mulberry32).
  if (settings.seed !== null) {
    let state = (settings.seed + 0x9e3779b9) >>> 0;
    Math.random = () => {
      state = (state + 0x6d2b79f5) >>> 0;
      let mixed = Math.imul(state ^ (state >>> 15), state | 1);
      mixed ^= mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61);
      return ((mixed ^ (mixed >>> 14)) >>> 0) / 4294967296;
    };
  }

  // Dialogs are dismissed before they show; windows do not open; nothing prints.
  const fixed = (name, value) => {
    try {
      Object.defineProperty(window, name, { value, writable: true, configurable: true });
    } catch {
      // The page keeps what it has; the driver dismisses dialogs and closes windows too.
    }
  };
  fixed("alert", () => undefined);
  fixed("confirm", () => false);
  fixed("prompt", () => null);
  fixed("print", () => undefined);
  fixed("open", () => null);
  for (const name of [
    "RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport", "SharedWorker",
    "PresentationRequest", "showOpenFilePicker", "showSaveFilePicker", "showDirectoryPicker",
  ]) {
    delete window[name];
  }

  // Forms are not sent: handlers of `submit` run, and that is all.
  const refuse = Event.prototype.preventDefault;
  const listen = EventTarget.prototype.addEventListener;
  const never = (event) => Reflect.apply(refuse, event, []);
  Reflect.apply(listen, window, ["submit", never, { capture: true }]);
  HTMLFormElement.prototype.submit = function submit() {};

  // What jQuery shows or hides by and by is shown or hidden at once.
  const hurry = () => {
    if (window.jQuery?.fx) window.jQuery.fx.off = true;
  };
  Reflect.apply(listen, window, ["DOMContentLoaded", hurry, { capture: true }]);
  Reflect.apply(listen, window, ["load", hurry, { capture: true }]);

  // Back and forth only among the states that the page itself added.
  const { go, pushState } = History.prototype;
  let behind = 0;
  let ahead = 0;
  const move = (history, steps) => {
    if (steps === 0 || steps < -behind || steps > ahead) return;
    behind += steps;
    ahead -= steps;
    Reflect.apply(go, history, [steps]);
  };
  History.prototype.go = function (steps = 0) {
    move(this, Math.trunc(Number(steps)) || 0);
  };
  History.prototype.back = function () {
    move(this, -1);
  };
  History.prototype.forward = function () {
    move(this, 1);
  };
  History.prototype.pushState = function (...args) {
    Reflect.apply(pushState, this, args);
    behind += 1;
    ahead = 0;
  };

  // Nothing of an earlier page is left.
  if (window === window.top) {
    window.name = "";
    try {
      localStorage.clear();
      sessionStorage.clear();
    } catch {
      // This frame has no storage.
    }
    // The page stays: whatever would replace it is refused.
    const staying = (event) => {
      if (!event.hashChange && !event.destination.sameDocument && event.cancelable) never(event);
    };
    if (window.navigation) Reflect.apply(listen, window.navigation, ["navigate", staying]);
  }
  fixed("navigation", undefined);
})();
