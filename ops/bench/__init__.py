"""`miniserve bench`: the experiments. Each measures real servers, writes its CSV, then draws its figures from the CSV.

| concern | module |
|---|---|
| a server for one measurement | system |
| what every experiment has: rows, rounds, files | experiment, manifest |
| the experiments | static_sweep, modes, concurrency, occupancy |
| what the figures share | figures |
| options | command |
"""
