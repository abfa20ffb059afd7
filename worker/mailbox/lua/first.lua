-- FIRST: whether an answer is still to be counted for its learner, where that one belongs to another shard. ARGV: id of the request,
-- '1' from POST, 'paid' to count its tokens instead. Returns 1 or 0.
return is_new(ARGV[1], ARGV[2] == '1', ARGV[3]) and 1 or 0
