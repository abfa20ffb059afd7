"""`miniserve top`: the running system on one screen, from GET /metrics alone.

Three layers: watch (readings, and the time between them), view (numbers from two readings, pure), drawing (rich).
"""
