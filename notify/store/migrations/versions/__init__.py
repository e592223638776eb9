"""The schemas of the archive, one after the other."""

__all__: list[str] = []
