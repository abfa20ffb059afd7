"""What people and Prometheus look at: GET /metrics, and the waterfall of a request."""
