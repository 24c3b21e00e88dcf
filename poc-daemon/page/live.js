// What the daemon tells open pages by server-sent events: that the memory changed, and whether the store takes writes.

/** The least time between two calls for changes, in milliseconds. */
const PAUSE = 250;

const listeners = [];
let source = null;

const connection = (online) => dispatchEvent(new CustomEvent("connection", { detail: online }));

/** One stream for a page. A hidden page has none: browsers allow few connections to a server, over all tabs. */
function connect() {
  source?.close();
  source = null;
  if (document.hidden || listeners.length === 0) return;
  source = new EventSource("/events");
  source.addEventListener("open", () => connection(true));
  source.addEventListener("error", () => connection(false));
  for (const [name, run] of listeners) source.addEventListener(name, run);
}

document.addEventListener("visibilitychange", connect);
addEventListener("pagehide", () => source?.close());

function on(name, read) {
  const run = ({ data }) => read(JSON.parse(data));
  listeners.push([name, run]);
  if (source) source.addEventListener(name, run);
  else connect();
}

/** Calls a function after every change of the memory, at most four times a second, while the screen is visible. */
export function onChange(run) {
  let timer = 0;
  // A page that opens hidden may have loaded long before it is shown.
  let known = document.hidden ? -1 : null;
  on("change", (seq) => {
    // The first event only says where the memory is.
    if (known !== null && known !== seq && !timer) timer = setTimeout(() => { timer = 0; run(); }, PAUSE);
    known = seq;
  });
}

/** Calls a function with the reason why the store takes no writes, or with null when it takes them. */
export function onReadOnly(run) {
  on("store", (store) => run(store.read_only));
}
