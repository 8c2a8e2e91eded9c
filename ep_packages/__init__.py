"""What a vendor ships: execution-provider packages and the facts about them."""
