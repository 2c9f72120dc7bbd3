"""Model writers behind scripts/make_zoo."""
