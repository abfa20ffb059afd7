"""What people see in a browser: the page at `/`, and the files that pages load."""
