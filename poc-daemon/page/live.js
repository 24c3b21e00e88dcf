// Tells screens that the memory changed, by server-sent events.

const PAUSE = 250;

/** Calls a function after every change of the memory, at most four times a second, while the screen is visible. */
export function onChange(run) {
  let timer = 0;
  let missed = false;
  const later = () => {
    if (document.hidden) missed = true;
    else if (!timer) timer = setTimeout(() => { timer = 0; run(); }, PAUSE);
  };
  const source = new EventSource("/events");
  let first = true;
  source.addEventListener("change", () => {
    // The first event only says where the memory is.
    if (!first) later();
    first = false;
  });
  source.addEventListener("open", () => dispatchEvent(new CustomEvent("connection", { detail: true })));
  source.addEventListener("error", () => dispatchEvent(new CustomEvent("connection", { detail: false })));
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden && missed) {
      missed = false;
      later();
    }
  });
  addEventListener("pagehide", () => source.close());
}
