// Talking to the service: the token, the errors, and patience when it is busy.

import { askToken } from "./token.js";

const KEY = "prism-token";
// A link may carry the token behind a '#', which no browser sends to any server.
const linked = /^#token=([!-~]+)$/.exec(location.hash);
if (linked) {
  sessionStorage.setItem(KEY, linked[1]);
  history.replaceState(null, "", location.pathname + location.search);
}
const remembered = () => sessionStorage.getItem(KEY);

/** What went wrong, in the service's own words; `code` is a short slug, `body` all it said. */
export class ServiceError extends Error {
  constructor(code, message, status = 0, body = null) {
    super(message);
    this.code = code;
    this.status = status;
    this.body = body;
  }
}

/**
 * The address of a part of the service with its parameters; empty ones are left out.
 *
 * It is relative to the page, so that the service can live below any path of a proxy.
 */
export function address(path, parameters = {}) {
  const relative = path.replace(/^\//, "");
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(parameters)) {
    if (value !== null && value !== undefined && value !== "") query.set(name, value);
  }
  const text = query.toString();
  return text ? `${relative}?${text}` : relative;
}

/** A WebSocket; the token travels as a subprotocol, since a browser sets no headers on one. */
export function openSocket(path, parameters) {
  const url = new URL(address(path, parameters), document.baseURI);
  url.protocol = url.protocol.replace("http", "ws");
  const token = remembered();
  const coded = token && btoa(token).replaceAll("+", "-").replaceAll("/", "_").replaceAll("=", "");
  return new WebSocket(url, token ? ["prism", `bearer.${coded}`] : ["prism"]);
}

/**
 * Send a request and give the response.
 *
 * A missing or wrong token is asked for; 429 is waited out (`onWait(seconds)` is told). Everything
 * else that is no success becomes a ServiceError. `onSent(share)` is told how much of a body was sent.
 */
export async function request(path, { onWait, onSent, ...options } = {}) {
  for (;;) {
    const token = remembered();
    const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
    const response = await reach(path, { ...options, headers }, onSent);
    if (response.ok) return response;
    if (response.status === 401) {
      // Another request may have asked meanwhile.
      if (remembered() === token) await newToken(token !== null);
    } else if (response.status === 429) {
      const seconds = Math.min(60, Math.max(0.2, Number(response.headers.get("Retry-After")) || 1));
      onWait?.(seconds);
      await pause(1000 * seconds, options.signal);
    } else {
      throw await refusal(response);
    }
  }
}

export const getJson = async (path, options) => (await request(path, options)).json();
export const postJson = async (path, body, options) =>
  (await request(path, { method: "POST", body, ...options })).json();

async function newToken(wrong) {
  const given = await askToken(wrong);
  if (given === null)
    throw new ServiceError("unauthorised", "The service needs its token. Reload the page to give it.", 401);
  sessionStorage.setItem(KEY, given);
}

async function reach(path, options, onSent) {
  try {
    return await (onSent ? send(address(path), options, onSent) : fetch(address(path), options));
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new ServiceError(
      "unreachable",
      "The service does not answer. Check that it is running, then try again.",
    );
  }
}

/** As `fetch`, which does not tell how much it has sent. */
function send(url, { method, headers, body, signal }, onSent) {
  return new Promise((resolve, reject) => {
    const line = new XMLHttpRequest();
    line.open(method, url);
    for (const [name, value] of Object.entries(headers)) line.setRequestHeader(name, value);
    line.responseType = "arraybuffer";
    line.upload.onprogress = ({ loaded, total }) => onSent(total ? loaded / total : 0);
    line.onload = () => {
      const wait = line.getResponseHeader("Retry-After");
      const { status, statusText } = line;
      resolve(new Response(line.response, { status, statusText, headers: wait ? { "Retry-After": wait } : {} }));
    };
    line.onerror = () => reject(new TypeError("the line broke"));
    line.onabort = () => reject(new DOMException("cancelled", "AbortError"));
    signal?.addEventListener("abort", () => line.abort(), { once: true });
    line.send(body);
  });
}

async function refusal(response) {
  const body = await response.json().catch(() => null);
  const message = body?.detail ?? `The service answered ${response.status} ${response.statusText}`.trim();
  return new ServiceError(body?.code ?? `http_${response.status}`, message, response.status, body);
}

export function pause(milliseconds, signal) {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(resolve, milliseconds);
    signal?.addEventListener(
      "abort",
      () => {
        clearTimeout(timer);
        reject(new DOMException("cancelled", "AbortError"));
      },
      { once: true },
    );
  });
}
