"""The description of the HTTP API: OpenAPI 3.1, and a page for people that is made of it."""
