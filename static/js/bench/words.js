/** Words of the bench, as its pages say them. */

export const STATES = {
  draft: "Draft",
  answering: "Answering",
  disputed: "Disputed",
  accepted: "Accepted",
  reserve: "Reserve",
  rejected: "Rejected",
  retired: "Retired",
};

export const ORIGINS = { template: "a template", model: "a model", human: "a person", imported: "an import" };

export const VERDICTS = { accept: "accepted it", edit: "had it edited", reject: "rejected it" };

const SPECIALS = { cannot_tell: "cannot tell", two_right: "two are right", bad_clip: "the clip is bad" };

/** What somebody answered, in the words of the options. */
export function answerWords(question, { chosen, special }) {
  if (special) return SPECIALS[special];
  const texts = new Map((question.options ?? []).map(({ id, text }) => [id, text]));
  return chosen.map((one) => texts.get(one) ?? one).join(", ");
}
