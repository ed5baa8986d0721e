"""How a command's user names a video: by its id, the file itself, the file's sha256 or the video's name."""

from __future__ import annotations

from pathlib import Path

from ml.formats.hashing import sha256_of
from webapp.library import services
from webapp.library.models import Project, Video
from webapp.studio.errors import StudioError


def find_video(word: str, project_slug: str | None = None) -> Video:
    """Raises StudioError or Refused when there is no such video, or more than one."""
    project = None
    if project_slug:
        project = Project.objects.filter(slug=project_slug).first()
        if project is None:
            raise StudioError(f"There is no project {project_slug!r}.")
    path = Path(word)
    if path.is_file():
        try:
            return services.find_video(sha256_of(path), project=project)
        except services.Refused as error:
            raise StudioError(f"The file {path} is not imported yet, or in more than one project.") from error
    return services.find_video(word, project=project)
