"""Where attachments of emails may lie, as the configuration describes it."""

from pathlib import Path
from typing import Annotated

from pydantic import AfterValidator, Field

from notify.attachments import FOLDER
from notify.config.types import Strict, Whole


def _folder(path: Path) -> Path:
    """Need not exist here: it may be on the hosts of the workers, and of publishers, only."""
    if not path.is_absolute() or path == Path(path.anchor):
        raise ValueError("must be the absolute path of a folder, and not of the root")
    if path.exists() and not path.is_dir():
        raise ValueError("is not a folder")
    return path


FolderName = Annotated[str, Field(pattern=rf"^{FOLDER.pattern}$")]
Folder = Annotated[Path, AfterValidator(_folder)]


class AttachmentSettings(Strict):
    """Folders by the name that notifications use, and the most that one email may carry."""

    folders: dict[FolderName, Folder] = Field(default_factory=dict)
    max_bytes: Whole = Field(default=10_485_760, ge=1, le=104_857_600)
