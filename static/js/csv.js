/** The manifest that may come with uploads: CSV after RFC 4180, first line the names of the columns. */

export const COLUMNS = ["source_recording", "licence", "consent_note"];

/** @param {string} text @returns {{line: number, cells: string[]}[]} */
function records(text) {
  const found = [];
  let cells = [];
  let cell = "";
  let quoted = false;
  let line = 1;
  let began = 1;
  const source = text.replace(/^\uFEFF/, "").replace(/\r\n?/g, "\n");
  const close = () => {
    cells.push(cell);
    cell = "";
  };
  const end = () => {
    close();
    if (cells.some((c) => c.trim() !== "")) found.push({ line: began, cells });
    cells = [];
  };
  for (let at = 0; at < source.length; at += 1) {
    const sign = source[at];
    if (sign === "\n") line += 1;
    if (quoted) {
      if (sign !== '"') cell += sign;
      else if (source[at + 1] === '"') {
        cell += '"';
        at += 1;
      } else quoted = false;
    } else if (sign === '"' && cell === "") quoted = true;
    else if (sign === ",") close();
    else if (sign === "\n") {
      end();
      began = line;
    } else cell += sign;
  }
  if (quoted) throw new Error(`Line ${began}: a quotation mark is never closed.`);
  end();
  return found;
}

/**
 * @param {string} text
 * @returns {Map<string, object>} file name (without folders) to its provenance
 * @throws {Error} one sentence naming the line
 */
export function readManifest(text) {
  const [head, ...rest] = records(text);
  if (!head) throw new Error("The manifest is empty.");
  // "path" is the command line's word for the same column
  const names = head.cells.map((name) => name.trim().toLowerCase()).map((name) => (name === "path" ? "file" : name));
  const unknown = names.find((name) => name !== "file" && !COLUMNS.includes(name));
  if (unknown !== undefined) {
    throw new Error(`Line 1: there is no column "${unknown}"; there are file, ${COLUMNS.join(", ")}.`);
  }
  if (!names.includes("file")) throw new Error("Line 1: the column file is missing.");
  const manifest = new Map();
  for (const { line, cells } of rest) {
    if (cells.length !== names.length) {
      throw new Error(`Line ${line}: ${cells.length} cells where the head has ${names.length}.`);
    }
    const row = Object.fromEntries(names.map((name, at) => [name, cells[at].trim()]));
    const file = row.file.split(/[\\/]/).pop();
    if (!file) throw new Error(`Line ${line}: no file is named.`);
    if (manifest.has(file)) throw new Error(`Line ${line}: ${file} stands twice.`);
    delete row.file;
    manifest.set(file, row);
  }
  return manifest;
}
