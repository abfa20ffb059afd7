"""A plug-in: a request that asks where its time went has the waterfall in its own answer, and nothing is stored."""
