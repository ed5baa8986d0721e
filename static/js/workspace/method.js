// How a run came to its gaze, in words: what the page shows is an estimate, and says of which kind.

const METHODS = {
  embedded: {
    short: "geometric estimate",
    long: "Gaze is a geometric estimate from the head's direction, not a measurement of the eyes.",
  },
  "grasp-gaze": { short: "imported estimate", long: "Gaze was estimated outside and imported from GraSP gaze files." },
};

/** {short, long} for a run. */
export function gazeMethod(run) {
  return (
    METHODS[run.profile] ?? {
      short: `estimate of ${run.profile}`,
      long: `Gaze was estimated by the profile ${run.profile}.`,
    }
  );
}

/** How one sample's gaze was come by, in words: a profile's direction is rougher than a whole face's. */
export function sampleMethod(run, record) {
  return record.profile ? `${gazeMethod(run).short} from a profile, rough` : gazeMethod(run).short;
}

/** "facemesh 1, nanodet 1" */
export function backendWords(run) {
  return (run.backends ?? []).map(({ name, version }) => `${name} ${version}`).join(", ");
}
