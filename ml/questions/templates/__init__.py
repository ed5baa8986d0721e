"""The templates of the sixteen categories; importing this registers all of them in `ml.questions.idea.REGISTRY`."""

from ml.questions.templates import gaze, gesture, joint, opened, other

__all__ = ["gaze", "gesture", "joint", "opened", "other"]
