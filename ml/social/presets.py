"""Every threshold of the gaze events, named, with unit and source.

`GraspCompat` repeats the released rules with their artefacts, for parity with published files. `Strict` is our own rule
set: each artefact removed, every limit in seconds or in shares of the picture's longer side, so that the result does
not depend on the sampling rate, on the picture's shape or on the order of persons.

Why some strict limits lie where they do: at 2 samples per second a state of true length d shows on d / 0.5 samples,
rounded down or up. A limit that is a multiple of 0.5 s ("at least 1 s") then accepts, at any rate from 2 Hz up, every
state that reaches it, and rejects every one more than half a second shorter.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class GraspCompat:
    """The released rules. Distances are shares of the picture per axis, not corrected for its shape."""

    name: str = "grasp-compat"
    min_confidence: float = 0.0  # the detectors emit everything; their questions use events of at least 0.9

    # Gap filling (released table, counted in samples).
    min_inframe: float = 0.5  # in-frame share from which a gaze counts as measured; the file holds a flag
    linear_samples: int = 3  # gaps up to this many samples are interpolated
    linear_loss: float = 0.1  # confidence 1 - loss x gap
    hold_samples: int = 10  # gaps, heads and tails up to this many samples hold the nearest value
    hold_confidence: float = 0.5  # ... with this confidence
    hold_decay: float = 0.2  # ... times exp(-decay x samples from it)
    longest_gap_s: float = 3.0  # seconds between the valid ends beyond which nothing is filled
    cut_jump: float = 0.30  # frame widths; a face centre that jumps further between samples is a cut

    # True repeats the release: velocities are listed per person over the samples that list them, and read by the number
    # of the sample in the whole file, so that they slip when somebody enters late. False reads them by time.
    velocity_by_history: bool = True

    # sudden_gaze_shift
    shift_velocity: float = 0.7  # frame units per second, on filled gaze
    shift_gap_s: float = 0.6  # fast samples closer than this are one run
    shift_shortest_s: float = 0.5  # last minus first fast sample
    shift_longest_s: float = 1.5
    shift_full_velocity: float = 1.4  # velocity of confidence 1

    # joint_attention
    convergence_confidence: float = 0.3  # gaze confidence from which a person takes part
    convergence_decay: float = 3.0  # score = exp(-decay x median distance to the centroid) x mean confidence
    joint_convergence: float = 0.6
    joint_persons: int = 2
    joint_gap_s: float = 0.6
    joint_shortest_s: float = 0.5
    joint_radius: float = 0.20  # frame units from the centre at the peak sample; nearer persons are members

    # gaze_following
    following_gaze_confidence: float = 0.5
    following_distance: float = 0.03  # frame units; also the distance of confidence 0
    following_shortest_lag_s: float = 1.0
    following_longest_lag_s: float = 2.0
    following_merge_s: float = 1.0  # the next hit starts no later than this after the last one's end
    following_confidence: float = 0.9  # events below are dropped: in effect a distance of 0.003

    # attention_capture
    capture_velocity: float = 0.4  # frame units per second; also the mean velocity of confidence 1
    capture_persons: int = 3
    capture_gap_s: float = 0.5

    # mutual_gaze
    mutual_gaze_confidence: float = 0.5  # measured gaze only
    mutual_margin: float = 0.02  # frame units around the face box
    mutual_gap_s: float = 1.5
    mutual_shortest_s: float = 1.0
    mutual_base: float = 0.5  # confidence = base + step x samples, at most 1
    mutual_step: float = 0.1


@dataclass(frozen=True)
class Strict:
    """Our rules. Lengths are shares of the picture's longer side in both directions; "ours" marks our own choice."""

    name: str = "strict"
    min_confidence: float = 0.0  # ours: reviewers see everything, least certain first

    # What counts as a measured gaze.
    min_inframe: float = 0.5  # ours: more likely inside the picture than not
    min_gaze_confidence: float = 0.2  # ours: below it a backend is guessing

    # Gap filling: the released table at 2 samples per second, in seconds.
    linear_s: float = 1.5  # 3 samples at 2 Hz
    linear_loss_per_s: float = 0.2  # 0.1 a sample at 2 Hz
    hold_s: float = 2.5  # the released 10 samples are cut by its limit of 3 s between valid ends: 5 missing samples
    hold_confidence: float = 0.5
    hold_decay_per_s: float = 0.4  # 0.2 a sample at 2 Hz
    cut_jump: float = 0.30  # longer sides; a face that jumps further between samples is another face
    filled_confidence: float = 0.5  # ours: below it a filled gaze is shown but proves nothing

    # Displacement of the gaze relative to the face, over a fixed window: the same at every sampling rate.
    window_s: float = 0.5  # one step at 2 Hz, the released rate
    bracket_s: float = 0.75  # ours: the gaze half a second ago is interpolated between samples at most this far apart

    time_slack_s: float = 0.05  # ours: a sample's time is rounded up to a source frame
    bridge_s: float = 0.6  # released run gap, here measured between what samples speak for: one lost sample at 2 Hz

    # Whom or what a point is on, where the perception has not said.
    face_margin: float = 0.02  # released margin around the face box

    # sudden_gaze_shift
    shift_displacement: float = 0.25  # 0.5 per second (early code): a jump that straddles a 2 Hz sample shows only half
    shift_stay: float = 0.15  # ours, hysteresis: a run goes on while the displacement stays above this
    shift_bridge_s: float = 0.25  # ours: below half a second, so that two shifts stay two at every rate
    shift_longest_s: float = 2.0  # released 1.5 s of movement plus the window it is seen through

    # joint_attention
    joint_distance: float = 0.10  # between every two members
    joint_object_distance: float = 0.20  # ours: for one object label, which may name two things
    joint_shortest_s: float = 1.0  # released: at least two samples 0.5 s apart, which speak for 1 s at 2 Hz
    joint_focus_jump: float = 0.20  # ours, two distances: both moved on together, so it is another event
    joint_slack_s: float = 1.0  # ours: a part of a group counts by itself where it lasts this much longer at one end

    # Arrivals: the gaze settles somewhere it was not before (the onset gate of following and capture).
    settle_radius: float = 0.10  # ours, the joint distance: it stays this near ...
    settle_s: float = 0.5  # ours: ... for this long ...
    arrival_lookback_s: float = 1.0  # ours: ... and was further away within this time before

    # gaze_following: lags lie half-way between 2 Hz steps, so the released 1-2 s passes and "at once" never does.
    following_distance: float = 0.05
    following_shortest_lag_s: float = 0.75
    following_longest_lag_s: float = 2.25

    # attention_capture
    capture_displacement: float = 0.20  # released 0.4 per second over the window
    capture_persons: int = 3
    capture_window_s: float = 0.5  # released merge window: arrivals of all within it
    capture_distance: float = 0.10  # between every two landing points
    capture_padding_s: float = 0.5  # ours: the event lasts this long after the last arrival (they all still look there)

    # mutual_gaze
    mutual_shortest_s: float = 1.0


Preset = GraspCompat | Strict
PRESETS: dict[str, Preset] = {"grasp-compat": GraspCompat(), "strict": Strict()}


def preset(choice: str | Preset) -> Preset:
    """A preset by name, or the one given; an unknown name is a `ValueError` that lists the names."""
    if not isinstance(choice, str):
        return choice
    if choice not in PRESETS:
        raise ValueError(f"Preset {choice!r} is not known; choose one of {', '.join(PRESETS)}.")
    return PRESETS[choice]
