"""Labels hidden from a model, to see how well it answers without them."""
