"""`python -m errands` is the command `errands`."""

from errands.cli import main

main()
