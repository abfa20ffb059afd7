"""What metrics cost, in microseconds of CPU per request: `python -m ops.metrics_cost` (its --help says how).

| concern | module |
|---|---|
| the code of an earlier commit beside this one | trees |
| both of them under the same load, in turn: CPU seconds of all processes per answer | whole |
| each piece of it by itself: counting, reporting, telling | pieces |
| what the scripts cost Redis, of both | scripts |
"""
