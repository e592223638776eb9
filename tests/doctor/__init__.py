"""The doctor, on facts and on real servers."""
