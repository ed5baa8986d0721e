/** Words for what numbers and provenance are filed under, and their values as a reader has them. */

const LABELS = {
  // what was found of a query
  role: "asked as",
  status: "outcome",
  any_in: "frames in the span with any mask",
  strong_in: "frames in the span with a sure mask",
  strong_out: "frames outside with a sure mask",
  share_in: "share of the frames in the span",
  share_out: "share of the frames outside",
  several: "share of these frames with two or more",
  objects: "things found",
  together: "most of them on one frame",
  persons: "persons under the masks",
  singular: "the text means one thing",
  // what was looked at
  span: "span, in seconds",
  padded: "span with its margin, in seconds",
  timed: "the claim names a time",
  time_basis: "its time is",
  frames_in: "frames looked at in the span",
  frames_out: "frames looked at outside",
  truth: "holds",
  firm: "rests on reviewed events",
  basis: "known from",
  share: "share of the known time",
  // where it comes from
  sha256: "SHA-256",
  rationale_sha256: "SHA-256 of the text",
  text_sha256: "SHA-256 of the reply",
  prompt_sha256: "SHA-256 of the prompt",
  rules: "thresholds",
  person_masks: "masks of persons",
  object_score: "least score of a thing",
  person_score: "least score of a person",
  same_iou: "overlap that makes two masks one thing",
  lost: "frames after which a thing is lost",
  grabcut: "cutting out (rounds, sizes, shares)",
};

const KEY = /^[a-z][a-z0-9_]*$/; // and not the name of a file, or an id

/** @param {string} key @returns {string} */
export const label = (key) => LABELS[key] ?? (KEY.test(key) ? key.replaceAll("_", " ") : key);

/** A number, a word, yes or no, or a list of them. */
export function valueWords(value) {
  if (typeof value === "boolean") return value ? "yes" : "no";
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : value.toPrecision(3);
  if (Array.isArray(value)) return value.length ? value.map(valueWords).join(", ") : "none";
  return typeof value === "string" ? (KEY.test(value) ? value.replaceAll("_", " ") : value) : JSON.stringify(value);
}

/** What is not known is not listed. */
export const known = (found) =>
  Object.entries(found ?? {}).filter(([, value]) => value !== null && value !== undefined && value !== "");
