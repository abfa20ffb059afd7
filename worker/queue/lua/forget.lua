-- FORGET: a learner, at once. ARGV: learner, seconds for which what other replicas report of it comes too late.
local learner, seconds = unpack(ARGV)
call('SET', 'miniserve:forgotten:' .. learner, '', 'EX', seconds)
local holder = fields_of(learner_key(learner), 'holder').holder
call('DEL', learner_key(learner))
drop_entry((holder or '') .. ':' .. learner)
return 0
