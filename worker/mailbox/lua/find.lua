-- FIND: what an HTTP request asked, and what became of it. ARGV: its id.
-- Returns { its document, { job id, state, base64 payload }... }, or nothing where it is not known (any more).
local known = redis.call('HMGET', request_key(ARGV[1]), 'document', 'jobs')
if not known[1] then return {} end
local found = { known[1] }
for id in string.gmatch(known[2], '%S+') do found[#found + 1] = { id, unpack(state_of(id)) } end
return found
