"""The journal: originals, ticks, decisions and events on disk, written off the loop's thread."""
