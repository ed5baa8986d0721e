"""What is left of a video's questions when it is withdrawn or deleted: the hashes of released items, and the word.

Questions, answers, clips and their history go with the video. A release keeps each item's sha256, so that it can still
be told which items it had; its files are erased, since they hold the items, and are written again without them.
"""

from __future__ import annotations

from django.db.models import Q

from webapp.bench import linting
from webapp.bench.models import Clip, Question, Release, ReleaseItem
from webapp.bench.releases import rewrite
from webapp.library.models import Project, Video

WITHDRAWN = {"withdrawn": True}


def scrub(video: Video) -> list[str]:
    """Scrub the released items of a video that is about to be erased; the storage folders that go with it."""
    Project.objects.select_for_update(no_key=True).get(id=video.project_id)  # no release of it is kept meanwhile
    of_video = Q(question__video=video) | Q(item__provenance__video=str(video.id))
    found = ReleaseItem.objects.filter(id__in=list(ReleaseItem.objects.filter(of_video).values_list("id", flat=True)))
    releases = list(Release.objects.filter(items__in=found).distinct())
    found.update(item=WITHDRAWN)
    for release in releases:
        rewrite(release=release, erased=True)
    folders = [clip.folder for clip in Clip.objects.filter(video=video)] + [release.folder for release in releases]
    if Question.objects.filter(video=video).exists():
        folders.append(linting.report_name(video.project_id))  # it quotes questions
    return folders
