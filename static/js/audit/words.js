/** Words of the audit, as its pages say them. */

export const TYPES = {
  gaze: "Gaze",
  gesture: "Gesture",
  action: "Action",
  expression: "Expression",
  person: "Person",
  object: "Object",
  scene: "Scene",
  audio: "Sound",
  inference: "Inference",
};

export const VERDICTS = {
  supported: { word: "Supported", key: "1", sign: "check", title: "The picture bears the claim out" },
  contradicted: { word: "Contradicted", key: "2", sign: "x", title: "The picture shows that the claim is wrong" },
  cannot_tell: { word: "Cannot tell", key: "3", sign: "help", title: "The picture does not decide it" },
  mask_wrong: {
    word: "Mask wrong",
    key: "4",
    sign: "target",
    title: "The masks show something else than the claim names",
  },
};

export const RELEVANCE = {
  relevant: { word: "Relevant", key: "Q", title: "The mask shows what the claim is about" },
  partly: { word: "Partly", key: "W", title: "The mask shows some of it, or more than it" },
  irrelevant: { word: "Irrelevant", key: "E", title: "The mask has nothing to do with the claim" },
};

/** How sure the machine's verdict is: which colour its badge has. */
export const MACHINE = {
  supported: { word: "Supported", kind: "ok" },
  weak: { word: "Weak", kind: "warn" },
  unsupported: { word: "Unsupported", kind: "danger" },
  contradicted: { word: "Contradicted", kind: "danger" },
  wrong_person: { word: "Wrong person", kind: "danger" },
  wrong_time: { word: "Wrong time", kind: "danger" },
  ambiguous: { word: "Ambiguous", kind: "warn" },
  not_groundable: { word: "Not groundable", kind: "off" },
  not_in_vocabulary: { word: "Not in vocabulary", kind: "off" },
  error: { word: "Error", kind: "danger" },
};

export const BASIS = {
  stated: "stated in the text",
  aligned: "taken from the words before",
  unknown: "no time is given",
};

export const ROLES = {
  phrase: "Phrase",
  category: "Category",
  negative: "Negative",
  person: "Person",
  reprompt: "Other wording",
};

export const STATUS = {
  ok: "found",
  empty: "found nowhere",
  error: "failed",
  skipped: "not looked for",
  not_in_vocabulary: "not in the grounder's vocabulary",
};

/** What a query looks for: its words, or the person it asks for by number. */
export const queryName = ({ text, person, role }) =>
  text || (person >= 0 && person !== null ? `Person ${person}` : ROLES[role]);

/** What was really looked for, where that is less than the query says; "" where all of it was. */
export const scopeWords = ({ looked_for: kind, unchecked }) =>
  unchecked?.length ? `looked for: ${kind}; not checked: ${unchecked.join(", ")}` : "";

/** What the masks of a query are masks of: all it says, or the kind that was looked for. */
export const laneName = (query) => (query.unchecked?.length ? query.looked_for : queryName(query));

/** Seconds on the clip's clock, as the pages write them: no more decimals than there are. */
export const seconds = (value) => String(Math.round(value * 100) / 100);

export const plural = (count, word) => `${count} ${word}${count === 1 ? "" : "s"}`;
