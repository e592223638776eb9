"""The benchmarks: Notify and its peers side by side, in alternating rounds. See ``ops/bench``."""
