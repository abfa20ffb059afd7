"""Who may use the API, where a file of keys says so. Imported only then."""
