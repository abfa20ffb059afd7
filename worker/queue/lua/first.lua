-- FIRST: whether the tokens of an answer are still to be counted for its API key. ARGV: id of the request. Returns 1 or 0.
return is_new(ARGV[1], false, 'paid') and 1 or 0
