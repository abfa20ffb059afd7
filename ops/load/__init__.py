"""`miniserve loadtest`: a closed or an open loop of sentences against any miniserve, from one thread and plain sockets.

| concern | module |
|---|---|
| what is sent | prompts (with prompts.txt) |
| one HTTP connection | connection |
| when it is sent | arrivals |
| the loop | clients |
| the load of this command | generator |
| what came back | measurements |
| how fast the generator itself is | ceiling |
| options and progress | command |
| what is printed | report |

HTTP is written by hand here, and only here: a client library would take as much of the two cores as the server does.
"""
