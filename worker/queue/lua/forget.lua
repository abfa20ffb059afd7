-- FORGET: a learner, at once. ARGV: learner, seconds for which what other replicas report of it comes too late.
local learner, seconds = unpack(ARGV)
call('SET', 'miniserve:forgotten:' .. learner, '', 'EX', seconds)
drop(learner, '')
return 0
