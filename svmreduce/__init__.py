"""Train SVMs fast by training on less, and measure what that buys."""

__version__ = "0.1.0"
