"""The command line and everything run by hand around the server. Nobody imports this package."""
