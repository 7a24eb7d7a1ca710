// Many files in small groups: what fits into one request, and a few requests at a time.

const FILES = 8;
const BYTES = 6e6;
const ROWS = 64;

/**
 * Take from the front of `pending` what goes into one request; always at least one clip.
 *
 * Clips that the service has heard before (they have a `row`) go without their sound.
 */
export function nextGroup(pending, limits, files = FILES, bytes = BYTES) {
  const known = Boolean(pending[0]?.row);
  const most = known ? ROWS : Math.max(1, Math.min(files, limits.files));
  const room = Math.min(bytes, limits.bytes);
  let size = 0;
  let count = 0;
  while (count < pending.length && count < most && Boolean(pending[count].row) === known) {
    size += known ? 0 : pending[count].file.size;
    if (count && size > room) break;
    count += 1;
  }
  return pending.splice(0, count);
}

/** Why a file cannot be sent at all; null if it can. */
export function tooLarge(file, limits, bytes) {
  if (file.size === 0) return "The file is empty. Check that it was copied whole.";
  if (file.size <= limits.bytes) return null;
  return (
    `The file has ${bytes(file.size)}; this service takes ${bytes(limits.bytes)} at a time. ` +
    "Cut it into shorter pieces, or use a compressed format such as FLAC or Ogg."
  );
}

/** The body of a request and its headers: ids of clips that were sent before, or their sound. */
export function bodyOf(clips) {
  if (clips.every((clip) => clip.row)) {
    const names = clips.map((clip) => clip.name);
    const body = JSON.stringify({ rows: clips.map((clip) => clip.row), names });
    return { body, headers: { "Content-Type": "application/json" } };
  }
  const body = new FormData();
  // Names travel as text; the service never uses them as paths.
  for (const clip of clips) body.append("files", clip.file, clip.name);
  return { body, headers: {} };
}

/**
 * Send groups of `clips` until none is left, two requests at a time.
 *
 * `send(group)` does one request; an error it throws is given to `failed(group, error)`, and what
 * that throws ends everything.
 */
export async function inGroups(pending, limits, send, failed, signal) {
  const worker = async () => {
    while (pending.length && !signal.aborted) {
      const group = nextGroup(pending, limits);
      try {
        await send(group);
      } catch (error) {
        await failed(group, error);
      }
    }
  };
  await Promise.all([worker(), worker()]);
}
