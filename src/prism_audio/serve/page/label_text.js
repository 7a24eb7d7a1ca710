// Labels as text: commas between them, quotes round one that holds a comma, as in a line of CSV.

const PART = /\s*(?:"((?:[^"]|"")*)"|([^,;\n]*))\s*(?:[,;\n]|$)/gy;

/** The labels of a text with commas, semicolons or line breaks between, each once. */
export function parseLabels(text) {
  const labels = new Set();
  PART.lastIndex = 0;
  for (let part; PART.lastIndex < text.length && (part = PART.exec(text)); ) {
    const label = (part[1]?.replaceAll('""', '"') ?? part[2]).trim().replace(/\s+/g, " ");
    if (label) labels.add(label);
  }
  return [...labels];
}

const quoted = (label) => (/[",;]/.test(label) ? `"${label.replaceAll('"', '""')}"` : label);

/** The text of labels, for the field and for requests. */
export const labelText = (labels) => labels.map(quoted).join(", ");
