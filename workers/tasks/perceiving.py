"""Perception: a run folder by `ml.perception`, its display files, then the run and its events in one step."""
