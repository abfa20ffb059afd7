-- FIND: what an HTTP request asked, and what became of it. ARGV: its id.
-- Returns { document, maker, { job id, state, base64 payload }... }, or nothing where it is not known (any more).
local known = redis.call('HMGET', request_key(ARGV[1]), 'document', 'maker', 'jobs', 'open')
if not known[1] then return {} end
local found = { known[1], known[2] }
for id in string.gmatch(known[3], '%S+') do
  local state = state_of(id)
  if state[1] == 'gone' and tonumber(known[4]) <= 0 then return {} end -- its answer is forgotten, nobody removed it
  found[#found + 1] = { id, unpack(state) }
end
return found
