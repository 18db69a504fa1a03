"""The paper book: pages that have each table and figure of a paper beside what the scripts find. See `examples/papers/make_book.py`."""
