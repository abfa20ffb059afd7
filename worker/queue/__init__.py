"""The one transport module: requests to workers, answers back, over Redis in RQ's formats or inside a process.

It decides nothing about scheduling and knows no numpy and no Flask. Importing it opens nothing; redis is loaded only by
the modules that talk to it.
"""
