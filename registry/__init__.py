"""What a publisher stores: models, releases and EP packages in a database."""
