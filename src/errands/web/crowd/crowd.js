// Comfort for those whose browser runs scripts; every page works without it.
(() => {
  "use strict";

  // Times are sent as UTC, and shown in the reader's own time.
  const clock = new Intl.DateTimeFormat(undefined, {
    weekday: "short", day: "numeric", month: "short", hour: "2-digit", minute: "2-digit",
    timeZoneName: "short",
  });
  const left = (time) => {
    const minutes = Math.max(0, Math.round((Date.parse(time.dateTime) - Date.now()) / 60000));
    const [count, unit] = minutes < 120 ? [minutes, "minute"]
      : minutes < 2880 ? [Math.round(minutes / 60), "hour"] : [Math.round(minutes / 1440), "day"];
    return ` (${count} ${unit}${count === 1 ? "" : "s"} left)`;
  };
  const tell = () => {
    for (const time of document.querySelectorAll("time[data-local]")) {
      const shown = clock.format(new Date(time.dateTime));
      const text = shown + ("left" in time.dataset ? left(time) : "");
      if (time.textContent !== text) {
        time.textContent = text;
      }
    }
  };
  tell();
  setInterval(tell, 15000);

  // A task's frame is other people's code: what it says is taken for what it is worth, and only
  // changes how its own page looks, and its own draft.
  const frame = document.querySelector("iframe.task");
  const bar = document.querySelector(".taskbar");
  const said = bar?.querySelector("[role=status]");
  const submit = bar?.querySelector("[data-submit]");
  const say = (text) => {
    if (said && said.textContent !== text) {
      said.textContent = text;
    }
  };

  let isUnsent = false;
  let kept = null;
  let timer = 0;
  let saving = Promise.resolve();
  const save = (isLast) => {
    clearTimeout(timer);
    if (kept !== null) {
      saving = send(isLast);
    }
  };
  const saveLater = (milliseconds) => {
    clearTimeout(timer);
    timer = setTimeout(save, milliseconds);
  };
  const send = async (isLast) => {
    const draft = kept;
    kept = null;
    const body = new URLSearchParams({ draft: JSON.stringify(draft) });
    try {
      const keepalive = isLast && body.toString().length < 60000;
      const answer = await fetch(bar.dataset.draft, { method: "POST", body, keepalive });
      if (answer.ok) {
        say("Draft saved.");
      } else if (answer.status < 500) {
        say("These answers cannot be kept as a draft: submit before you leave.");
      } else {
        throw new Error(answer.status);
      }
    } catch {
      kept ??= draft;
      say("The draft could not be saved; trying again.");
      saveLater(5000);
    }
  };
  const change = (draft) => {
    isUnsent = true;
    kept = draft;
    say("Not sent yet.");
    saveLater(800);
  };

  const resize = (height) => {
    frame.style.height = `${Math.min(Math.max(height, 120), 30000) + 2}px`;
    frame.classList.add("fitted");
  };

  const heard = {
    height: ({ height }) => Number.isFinite(height) && resize(height),
    draft: ({ draft }) => bar && typeof draft === "object" && change(draft),
    restored: () => {
      isUnsent = true;
      say("Your draft is back; it is not sent yet.");
    },
    ready: ({ required }) => {
      if (submit) {
        submit.hidden = false;
        submit.disabled = false;
      }
      if (Number.isInteger(required) && required > 0) {
        document.querySelector("[data-required]")?.removeAttribute("hidden");
      }
    },
    invalid: () => say("Not sent: a required field is empty or wrong."),
    sending: () => {
      saveLater(5000);
      say("Sending…");
    },
    asked: () => {
      // The question is in the frame, and so are its answers.
      submit.hidden = true;
      say("Nothing has been filled in.");
      frame.scrollIntoView({ block: "nearest" });
    },
  };
  if (frame) {
    window.addEventListener("message", (event) => {
      if (event.source !== frame.contentWindow) {
        return;
      }
      if (event.data === "errands:submitted" && frame.dataset.then) {
        // It may say so wrongly: the page that is asked for then looks for itself. It is believed
        // once, or a frame that says so again and again would keep its worker from Return.
        const mark = `followed ${window.location.pathname}`;
        if (!window.sessionStorage.getItem(mark)) {
          window.sessionStorage.setItem(mark, "1");
          isUnsent = false;
          kept = null;
          clearTimeout(timer);
          window.location.assign(frame.dataset.then);
        }
      } else if (Object.hasOwn(heard, event.data?.errands ?? "")) {
        heard[event.data.errands](event.data);
      }
    });
  }
  if (bar) {
    submit.addEventListener("click", async () => {
      // A draft that arrives after its answers would be refused.
      saveLater(5000);
      await saving;
      frame.contentWindow.postMessage("errands:submit", "*");
    });
    window.addEventListener("beforeunload", (event) => {
      if (isUnsent) {
        event.preventDefault();
      }
    });
    window.addEventListener("pagehide", () => save(true));
    document.addEventListener("visibilitychange", () => document.hidden && save(true));
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
