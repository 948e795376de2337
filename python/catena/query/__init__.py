"""The query language: abstract syntax, parser, formatter, checker. Importing this costs nothing."""
