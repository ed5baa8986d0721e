/** What is drawn of a run: each metric's title, unit and spread, and the lines that are not to be crossed. */

import { mean, percent } from "./metrics.js";

const LAST = 5; // logged steps that a level is taken of
const share = { write: percent, least: 0, most: 1 };

/** What is shown of a run, in this order. `spread`: the metric whose value lies around the line as a band. */
const FIXED = [
  { name: "reward", title: "Reward", unit: "weighted sum", spread: "reward_std" },
  { name: "loss", title: "Loss", unit: "" },
  { name: "eval_loss", title: "Loss on validation", unit: "" },
  { name: "mean_token_accuracy", title: "Token accuracy", unit: "share of tokens", ...share },
  { name: "kl", title: "KL", unit: "nats per token, to the model it started from" },
  { name: "entropy", title: "Entropy", unit: "nats per token" },
  { name: "completions/mean_length", title: "Mean length", unit: "tokens per answer" },
  { name: "completions/clipped_ratio", title: "Cut-off rate", unit: "share of answers that ran out of tokens", ...share },
  { name: "frac_reward_zero_std", title: "Zero-spread groups", unit: "share of groups, from which nothing is learned", ...share, plural: true },
  { name: "learning_rate", title: "Learning rate", unit: "" },
  { name: "grad_norm", title: "Gradient norm", unit: "before clipping" },
  { name: "tokens_per_second", title: "Speed", unit: "tokens per second" },
  { name: "step_time", title: "Time of a step", unit: "seconds" },
  { name: "sgr_coverage", title: "SGR coverage", unit: "share of items that have somebody to name", ...share },
];

/** Signs of reward hacking. Heuristics: a crossed line is a reason to read rollouts, no proof of anything. */
export const WATCH = [
  {
    name: "watch/names_everyone",
    title: "Names-everyone rate",
    unit: "share of answers that name every visible person",
    alarm: 0.5,
    ...share,
  },
  {
    name: "watch/tag_stuffing",
    title: "Tag-stuffing rate",
    unit: "share with over 3 blocks of a kind, or an empty one",
    alarm: 0.2,
    ...share,
  },
  {
    name: "watch/length_drift",
    title: "Length drift",
    unit: "mean length ÷ that of the first 5 logged steps",
    alarm: 1.5,
    below: 0.5,
  },
];

const REWARD = /^rewards\/(.+)\/mean$/;

/** The charts of these metrics: those that are known in their order, every reward after the total, the rest by name. */
export function specsOf(names) {
  const there = new Set(names);
  const rewards = names
    .filter((name) => REWARD.test(name))
    .map((name) => {
      const [, word] = REWARD.exec(name);
      return { name, title: word, unit: "mean of the answers", spread: `rewards/${word}/std` };
    });
  const found = FIXED.filter(({ name }) => there.has(name)).flatMap((spec) =>
    spec.name === "reward" ? [spec, ...rewards] : [spec],
  );
  if (!there.has("reward")) found.unshift(...rewards);
  return found;
}

/** Metrics that no chart of `specsOf` shows. */
export function restOf(names) {
  const shown = new Set([...specsOf(names), ...WATCH].flatMap(({ name, spread }) => [name, spread]));
  return names.filter((name) => !shown.has(name)).map((name) => ({ name, title: name, unit: "as logged" }));
}

/** Whether a line is crossed by the last steps' level: "quiet", "alarm", or "unknown" where nothing is logged. */
export function alarmOf({ alarm, below }, values) {
  const known = values.filter((value) => value !== null).slice(-LAST);
  if (!known.length) return "unknown";
  const now = mean(known);
  return now > alarm || (below !== undefined && now < below) ? "alarm" : "quiet";
}
