// Types, roles and target kinds: their words, and how people take part in each type of event.

export const TYPES = {
  mutual_gaze: { word: "Mutual gaze", short: "Mutual", modality: "gaze", roles: [["member", 2, 2]] },
  joint_attention: {
    word: "Joint attention",
    short: "Joint",
    modality: "gaze",
    roles: [
      ["member", 2, 1000],
      ["target", 0, 1],
    ],
  },
  gaze_following: {
    word: "Gaze following",
    short: "Following",
    modality: "gaze",
    roles: [
      ["leader", 1, 1],
      ["follower", 1, 1000],
    ],
  },
  attention_capture: {
    word: "Attention capture",
    short: "Capture",
    modality: "gaze",
    roles: [
      ["member", 2, 1000],
      ["target", 0, 1],
    ],
  },
  sudden_gaze_shift: { word: "Sudden gaze shift", short: "Shift", modality: "gaze", roles: [["member", 1, 1]] },
  pointing: {
    word: "Pointing",
    short: "Point",
    modality: "gesture",
    roles: [
      ["initiator", 1, 1],
      ["target", 0, 1],
    ],
  },
  showing: {
    word: "Showing",
    short: "Show",
    modality: "gesture",
    roles: [
      ["initiator", 1, 1],
      ["target", 0, 1],
    ],
  },
  giving: {
    word: "Giving",
    short: "Give",
    modality: "gesture",
    roles: [
      ["initiator", 1, 1],
      ["target", 0, 1],
    ],
  },
  reaching: {
    word: "Reaching",
    short: "Reach",
    modality: "gesture",
    roles: [
      ["initiator", 1, 1],
      ["target", 0, 1],
    ],
  },
};
export const GAZE_TYPES = Object.keys(TYPES).filter((type) => TYPES[type].modality === "gaze");
export const GESTURE_TYPES = Object.keys(TYPES).filter((type) => TYPES[type].modality === "gesture");
export const ROLE_MARKS = { member: "", leader: "L", follower: "F", initiator: "I", target: "T" };

// Codes of tracks.bin and ribbon.bin
export const KIND = { none: 0, person: 1, object: 2, scene: 3, camera: 4, off: 5, unusable: 6 };
export const KIND_WORDS = ["no estimate", "a person", "an object", "the scene", "the camera", "off screen", "unusable"];
export const CORRECTION_WORDS = {
  point: "a point",
  person: "a person",
  object: "an object",
  camera: "the camera",
  off: "off screen",
  unusable: "unusable",
};
export const STATUS_WORDS = { proposed: "Proposed", confirmed: "Confirmed", rejected: "Rejected" };

const sortPairs = (pairs) => pairs.slice().sort((a, b) => (a[0] + a[1] < b[0] + b[1] ? -1 : 1));

/** What is wrong with the roles for this type, as a sentence; "" when nothing is. */
export function rolesMissing(type, participants) {
  for (const [role, least, most] of TYPES[type].roles) {
    const number = participants.filter((pair) => pair[1] === role).length;
    if (number < least) return `Needs ${least === most ? "" : "at least "}${least} ${role}${least > 1 ? "s" : ""}`;
    if (number > most) return `Takes at most ${most} ${role}${most > 1 ? "s" : ""}`;
  }
  return "";
}

/** Add a person in the first role with room (required ones first), or take the person out. */
export function togglePerson(type, participants, person) {
  if (participants.some((pair) => pair[0] === person)) return participants.filter((pair) => pair[0] !== person);
  const count = (role) => participants.filter((pair) => pair[1] === role).length;
  const roles = TYPES[type].roles;
  const open = roles.find(([role, least]) => count(role) < least) ?? roles.find(([role, , most]) => count(role) < most);
  if (open) return sortPairs([...participants, [person, open[0]]]);
  return participants; // full: somebody must leave first
}

/** Give a person the next role of the type. Where that would leave a role too full or too empty, two people swap. */
export function cycleRole(type, participants, person) {
  const roles = TYPES[type].roles;
  const pair = participants.find((p) => p[0] === person);
  if (!pair || roles.length < 2) return participants;
  const names = roles.map(([role]) => role);
  const next = names[(names.indexOf(pair[1]) + 1) % names.length];
  const holders = participants.filter((p) => p[1] === next);
  const [, , most] = roles.find(([role]) => role === next);
  const [, least] = roles.find(([role]) => role === pair[1]);
  const left = participants.filter((p) => p[1] === pair[1]).length - 1;
  const loser = holders.length >= most || left < least ? holders[0] : null;
  return sortPairs(participants.map((p) => (p === pair ? [person, next] : p === loser ? [p[0], pair[1]] : p)));
}

/** The same people for another type, each in a role that type knows. */
export function fitRoles(type, participants) {
  let fitted = [];
  const order = (role) => ["leader", "initiator", "member", "follower", "target"].indexOf(role);
  for (const [person, role] of participants.slice().sort((a, b) => order(a[1]) - order(b[1]))) {
    const spot = TYPES[type].roles.find(([name]) => name === role);
    const room = spot && fitted.filter((p) => p[1] === role).length < spot[2];
    fitted = room ? [...fitted, [person, role]] : togglePerson(type, fitted, person);
  }
  return sortPairs(fitted);
}
