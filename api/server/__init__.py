"""The gunicorn application and its workers, and the acceptor that answers probes."""
