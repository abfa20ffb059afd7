"""The gunicorn application and its worker, the connections of clients and their bounds."""
