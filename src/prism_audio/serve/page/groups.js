// Many files in small groups: what fits into one request, and a few requests at a time.

const FILES = 8;
const BYTES = 6e6;

/** Take from the front of `pending` what goes into one request; always at least one clip. */
export function nextGroup(pending, limits, files = FILES, bytes = BYTES) {
  const most = Math.max(1, Math.min(files, limits.files));
  const room = Math.min(bytes, limits.bytes);
  let size = 0;
  let count = 0;
  while (count < pending.length && count < most) {
    size += pending[count].file.size;
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

/** The body of a request with files; names travel as text, the service never uses them as paths. */
export function formOf(clips) {
  const form = new FormData();
  for (const clip of clips) form.append("files", clip.file, clip.name);
  return form;
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
