// Snapping: edges go to whole frames always, and to what is near while Alt is up.

import { upperBound } from "../dom.js";

const REACH_PX = 7;

/** Frames worth snapping to: cuts, the playhead, the marked span, edges of other events near the view. */
export function snapFrames({ store, player, window }, except) {
  const frames = new Set([...store.shots, store.times.frames, player.frame, player.frame + 1]);
  for (const mark of [store.span.in, store.span.out]) if (mark !== null) frames.add(mark);
  const margin = (window.end - window.start) / 2;
  for (const type of store.laneTypes)
    for (const event of store.inView(type, window.start - margin, window.end + margin)) {
      if (event === except) continue;
      frames.add(event.start);
      frames.add(event.end);
    }
  return Uint32Array.from([...frames].sort((a, b) => a - b));
}

/** {frame, snapped}: the nearest frame worth snapping to, or the nearest frame. */
export function snap(frame, frames, window, off) {
  const whole = Math.round(frame);
  if (off) return { frame: whole, snapped: null };
  const at = upperBound(frames, frame);
  let best = null;
  for (const candidate of [frames[at - 1], frames[at]])
    if (candidate !== undefined && Math.abs(candidate - frame) * window.scale <= REACH_PX)
      if (best === null || Math.abs(candidate - frame) < Math.abs(best - frame)) best = candidate;
  return best === null ? { frame: whole, snapped: null } : { frame: best, snapped: best };
}
