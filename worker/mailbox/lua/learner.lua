-- LEARNER: what is counted of one; nothing where its key holds another type. ARGV: learner.
local flat = redis.pcall('HGETALL', learner_key(ARGV[1]))
return flat.err and {} or flat
