"""When each frame of a video is shown, read from its stored frame index."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from webapp.lib import storage
from webapp.library.models import Video


def frame_seconds(video: Video, run_folder: str = "") -> NDArray[np.float64]:
    """Media seconds of every frame and of the end of the last one, N + 1 values, as the page's player knows them.

    A video without pictures takes them from its accepted run, or from that of another run's folder.
    """
    if video.blob is None:
        folder = run_folder or (video.run.folder if video.run else "")
        with storage.local(f"{folder}/seconds.npy") as path:
            return np.asarray(np.load(path, allow_pickle=False))
    with storage.local(f"{video.blob.folder}/frames.npz") as path, np.load(path, allow_pickle=False) as stored:
        numerator, denominator = (int(v) for v in stored["time_base"])
        return np.asarray(stored["pts"] * numerator / denominator)
