-- LEARNER: what is counted of one. ARGV: learner.
return redis.call('HGETALL', learner_key(ARGV[1]))
