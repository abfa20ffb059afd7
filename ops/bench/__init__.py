"""`miniserve bench`: the experiments. Each measures real servers, writes its CSV, then draws its figures from the CSV.

| concern | module |
|---|---|
| a server for one measurement | system |
| what every experiment has: rows, rounds, files | experiment, manifest |
| the experiments | static_sweep, modes, concurrency, occupancy; slots has a command of its own |
| servers side by side, in slices | slices |
| other servers around the same corrector | peers, peer_servers |
| CPU time of a request by stage | profile, stages, sampler/sitecustomize (runs in the measured processes) |
| figures | figures (what they share), static_figures, occupancy_figure |
| options | command |
"""
