"""What one run shows: tables, a summary in words, figures, and a page with all of them."""
