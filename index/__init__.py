"""The wire: the documents of an index, the client that reads them and the server that serves them."""
