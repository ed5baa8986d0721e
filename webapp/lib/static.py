"""Static files in production: names with a hash of their content, in pages, style sheets and our scripts' imports."""

from __future__ import annotations

from collections.abc import Callable

from whitenoise.storage import CompressedManifestStaticFilesStorage

OWN_SCRIPTS = "js/"


class HashedStaticFiles(CompressedManifestStaticFilesStorage):
    """Without the hash in their imports, scripts would be loaded twice, and old ones be kept after an update.

    Scripts of other packages are left as they are: what looks like an import in a minified one need not be a file.
    """

    support_js_module_import_aggregation = True

    def url_converter(self, name: str, hashed_files: dict[str, str], template: str | None = None) -> Callable[..., str]:
        if name.endswith(".js") and not name.startswith(OWN_SCRIPTS):
            return lambda match: str(match[0])
        found: Callable[..., str] = super().url_converter(name, hashed_files, template)
        return found
