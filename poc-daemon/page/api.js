// The ops, over the routes that every client has. The session is in a cookie that scripts cannot read.

/** What the session allows: `read-only`, `full` or `person`. */
export const scope = document.documentElement.dataset.scope;

/** Whether the session may write, and decide. */
export const mayWrite = scope !== "read-only";
export const mayDecide = scope === "person";

/** A text as a word of a shell. */
export const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/** The tenant that the session is about, one `key=value` per line; empty for the default tenant. */
export const tenant = document.documentElement.dataset.tenant;

/** The command line of this memory: with its profile, and with the tenant that this session is about. */
const { profile } = document.documentElement.dataset;
export const program = ["poc-memory", profile !== "default" && `--profile ${quoted(profile)}`, ...tenant.split("\n").filter(Boolean).map((pair) => `--tenant ${quoted(pair)}`)]
  .filter(Boolean).join(" ");

const csrf = document.documentElement.dataset.csrf;

/** An error of an op, or of the way to it. `code` is `offline` when there was no answer. */
export class ApiError extends Error {
  constructor({ code, message, hint, at }, status = 0) {
    super(message);
    Object.assign(this, { code, hint, at, status });
  }
}

/** Tells the frame whether the daemon answers. */
const connection = (online) => dispatchEvent(new CustomEvent("connection", { detail: online }));

/** A path with its fields encoded: path`/v1/runs/${run}`. */
export function path(parts, ...fields) {
  return parts.reduce((all, part, at) => all + encodeURIComponent(fields[at - 1]) + part);
}

/** Reads. Fields without a value are left out, lists are repeated. */
export function read(route, fields = {}, signal) {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(fields)) {
    for (const one of [value].flat()) if (one !== null && one !== undefined && one !== "") query.append(name, one);
  }
  const text = query.toString();
  return send(text ? `${route}?${text}` : route, { signal });
}

/** Runs an op that may write. */
export function write(route, fields = {}) {
  const headers = { "content-type": "application/json", "x-csrf-token": csrf };
  return send(route, { method: "POST", headers, body: JSON.stringify(fields) });
}

/** Deletes what is at a route. */
export const remove = (route) => send(route, { method: "DELETE", headers: { "x-csrf-token": csrf } });

async function send(url, options) {
  let response;
  try {
    response = await fetch(url, { ...options, cache: "no-store", credentials: "same-origin", redirect: "error" });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    connection(false);
    throw new ApiError({ code: "offline", message: "The daemon does not answer.", hint: "It may be stopped: `poc-memory page` starts it." });
  }
  connection(true);
  const answer = await response.json().catch((error) => {
    if (error.name === "AbortError") throw error;
    return null;
  });
  if (response.ok) return answer;
  if (response.status === 401 || (response.status === 404 && answer?.message?.startsWith("nothing is served"))) {
    throw new ApiError({ code: "signed-out", message: "This browser is not signed in any more.", hint: "Run `poc-memory page`." }, 401);
  }
  throw new ApiError(answer ?? { code: "internal", message: `The daemon answered with status ${response.status}.` }, response.status);
}
