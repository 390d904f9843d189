"""The subcommands of `mteb-nano`: options in, one call into the library, a table out."""
