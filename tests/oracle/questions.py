"""The sixteen categories and the ways in which each may ask."""

from __future__ import annotations

from tests.oracle import gaze, gestures, joint
from tests.oracle.asking import Reader

READERS: dict[str, tuple[Reader, ...]] = {
    "gaze_target": (gaze.eye_contact_partner, gaze.whose_gaze_is_followed),
    "gaze_event_type": (gaze.which_interaction,),
    "temporal_gaze": (gaze.how_long_together, gaze.which_gaze_first),
    "mutual_gaze": (gaze.which_pair,),
    "gaze_following": (gaze.who_leads, gaze.who_follows, gaze.one_way),
    "group_attention": (gaze.who_is_left_out, gaze.what_comes_after),
    "gesture_recog": (gestures.to_whom, gestures.from_whom),
    "gesture_type": (gestures.which_gesture,),
    "gesture_temporal": (gestures.who_is_earlier, gestures.how_long_gesture),
    "gesture_frequency": (gestures.who_gestures_most, gestures.commonest_type),
    "gesture_sequence": (gestures.who_is_next, gestures.whom_next),
    "reciprocal_gesture": (gestures.is_it_returned,),
    "gaze_gesture_align": (joint.gaze_or_gesture_first,),
    "eye_contact_in_interaction": (joint.eye_contact_during, joint.which_pair_during),
    "gaze_response_to_gesture": (joint.gaze_after_gesture, joint.gesture_after_gaze),
    "cross_modal_dynamics": (joint.who_shares_gaze_during, joint.who_is_in_most),
}
