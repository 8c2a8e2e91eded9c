"""The nouns: frozen values without behaviour beyond their own grammar."""
