"""Those who use a server while it is measured: people, programs, and some who mean no good."""
