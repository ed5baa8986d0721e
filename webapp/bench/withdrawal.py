"""What is left of a video's questions when it is withdrawn or deleted: the hashes of released items, and the word.

Questions, answers, clips and their history go with the video. A release keeps each item's sha256, so that it can still
be told which items it had; its files are erased, since they hold the items, and can be written again without them.
"""

from __future__ import annotations

from webapp.bench.models import Clip, Release, ReleaseItem
from webapp.library.models import Video

WITHDRAWN = {"withdrawn": True}


def scrub(video: Video) -> list[str]:
    """Scrub the released items of a video that is about to be erased; the storage folders that go with it."""
    items = ReleaseItem.objects.filter(question__video=video)
    releases = list(Release.objects.filter(items__in=items).distinct())
    items.update(item=WITHDRAWN)
    return [clip.folder for clip in Clip.objects.filter(video=video)] + [release.folder for release in releases]
