/** The manifest that may come with uploads: CSV after RFC 4180, first line the names of the columns. */

const COLUMNS = ["path", "name", "source_recording", "licence", "consent_note"];

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
 * @returns {Map<string, object>} file name (without folders) to its name in the project and its provenance
 * @throws {Error} one sentence naming the line
 */
export function readManifest(text) {
  const [head, ...rest] = records(text);
  if (!head) throw new Error("The manifest is empty.");
  const names = head.cells.map((name) => name.trim().toLowerCase());
  const unknown = names.find((name) => !COLUMNS.includes(name));
  if (unknown !== undefined) {
    throw new Error(`Line 1: there is no column "${unknown}"; known are ${COLUMNS.join(", ")}.`);
  }
  if (!names.includes("path")) throw new Error("Line 1: the column path is missing.");
  if (rest.length === 0) throw new Error("The manifest has no rows.");
  const manifest = new Map();
  for (const { line, cells } of rest) {
    if (cells.length > names.length) {
      throw new Error(`Line ${line}: ${cells.length} cells where the head has ${names.length}.`);
    }
    const row = Object.fromEntries(names.map((name, at) => [name, (cells[at] ?? "").trim()]));
    const file = row.path.split(/[\\/]/).pop();
    if (!file) throw new Error(`Line ${line}: the path is empty.`);
    if (manifest.has(file)) throw new Error(`Line ${line}: ${file} stands twice.`);
    delete row.path;
    if (!row.name) delete row.name;
    manifest.set(file, row);
  }
  return manifest;
}
