"""The command line of miniserve and what people run around the server. Nobody imports this package."""
