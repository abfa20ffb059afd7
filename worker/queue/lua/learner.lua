-- LEARNER: what is counted of one. ARGV: learner.
return call('HGETALL', learner_key(ARGV[1]))
