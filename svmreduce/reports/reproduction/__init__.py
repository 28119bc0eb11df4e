"""A printed table of a paper next to what a run measured, with a verdict for every number."""
