"""Bridges from a real shop's pages to ours and back.

A page that somebody fetched becomes a record (`record`, with one reader a site), records become
pages of our shop (`shelf`, `real_shop`), and what an agent does there becomes, where it must, the
next address. Only two kinds of request ever leave: a search, and opening an item. Options and
buying stay inside; the purchase is held for scoring. See docs/transfer.md.
"""
