"""`miniserve loadtest`: a closed or an open loop of sentences against any miniserve, from one event loop.

| concern | module |
|---|---|
| what is sent | prompts (with prompts.txt) |
| one server's client, on connections that it keeps | client |
| when it is sent | arrivals |
| the loop and its clients, which the experiments and the drills use, too | traffic |
| what came back | measurements |
| options, progress, what is printed | command |
"""
