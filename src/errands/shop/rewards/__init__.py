"""The reward of a purchase: named rules, and the nouns and synonyms they rest on."""
