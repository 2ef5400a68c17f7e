"""A policy's run as one SVG: what was noted on the way, how it is laid out, and the file."""

from lab.plot.course import Course, Series
from lab.plot.files import PlotError, ready, write_plot

__all__ = ["Course", "PlotError", "Series", "ready", "write_plot"]
