"""``notify demo``: the main job told as a story, counted where the messages arrive."""

from notify.demo.story import run_demo

__all__ = ["run_demo"]
