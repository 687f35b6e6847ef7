"""The language: syntax, dialects, parsing, printing and canonical form."""
