"""`miniserve bench`: the experiments. Each measures real servers, writes its CSV, then draws its figures from the CSV.

| concern | module |
|---|---|
| a server for one measurement, and the CPU time of its processes | system |
| what every experiment has: rows, rounds, files | experiment |
| the experiments | static_sweep, modes, concurrency, occupancy, engine |
| other servers around the same corrector | peers, peer_servers |
| figures | figures (what they share), static_figures, occupancy_figure |
| options | command |
"""
