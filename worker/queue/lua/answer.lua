-- FINISH: store and publish answers, each only if this worker still runs the job. The first answer wins.
-- ARGV: worker, then per answer: id, final status ('length': finished, and cut), base64 payload, base64 error text or '',
-- ticket of its delivery. Returns the number of duplicates dropped.
local worker, FIRST, STEP = ARGV[1], 2, 5
local members = {}
for at = FIRST, #ARGV, STEP do members[#members + 1] = ARGV[at] .. ':' .. worker end
-- A Redis without memory takes this write, and then the others. If it removes as many members as there are answers, this
-- worker still runs all of the jobs, and none must be read.
local are_own = in_slices('ZREM', WIP, members) == #members

-- Until when an answer is kept. Later ends come last in their registry, where they are cheapest to add.
local untils = {}
local function until_s(ttl)
  untils[ttl] = untils[ttl] or string.format('%.3f', now + ttl)
  return untils[ttl]
end

-- Stores an answer and ends its job. Returns false and stores nothing if the job was deleted by hand while it ran, or if it
-- has ended before because an operator let it run twice.
local function store(id, payload, ttl)
  local num_added = call('HSET', 'rq:job:' .. id, 'status', 'finished', 'ended_at', iso_now(), 'accepted_at', '', -- a job without it has no reservation
    'data', '["' .. FUNCTION_NAME .. '",null,[{"request_id":"' .. id .. '"}],{}]') -- shown by RQ's tools
  if num_added > 2 then -- a job that was started has two of these fields
    call('DEL', 'rq:job:' .. id)
    return false
  end
  if num_added == 0 and call('HEXISTS', RESERVATIONS, id) == 0 then return false end
  call('EXPIRE', 'rq:job:' .. id, ttl + SPARE_S)
  call('XADD', 'rq:results:' .. id, '*', 'type', 1, 'worker_name', worker, 'return_value', payload)
  call('EXPIRE', 'rq:results:' .. id, ttl + SPARE_S)
  local entries = ended.finished or {}
  ended.finished, entries[#entries + 1] = entries, until_s(ttl)
  entries[#entries + 1] = id
  return true
end

local others, num_done, num_cut, tokens, stay_us = {}, 0, 0, 0, 0
for at = FIRST, #ARGV, STEP do
  local id, status, payload = ARGV[at], ARGV[at + 1], ARGV[at + 2]
  local reply_to, accepted_at, ttl, num_tokens = string.match(ARGV[at + 4], '^(%S+) (%d[%d.]*) (%d+) (%d+) ')
  local since_s = tonumber(accepted_at or '')
  ttl = number(ttl, 1, 1e8)
  if are_own and since_s and ttl and (status == 'finished' or status == 'length') and store(id, payload, ttl) then
    released[#released + 1] = id
    num_done, tokens, stay_us = num_done + 1, tokens + num_tokens, stay_us + math.max(0, now - since_s) * 1000000
    if status == 'length' then num_cut = num_cut + 1 end
    local lines = outgoing[reply_to] or {}
    outgoing[reply_to], lines[#lines + 1] = lines, payload
  else
    others[#others + 1] = at
  end
end
if num_done > 0 then
  counted.reserved_tokens, counted.reserved_requests, counted.law_us = -tokens, -num_done, num_done * law_us
  counted.done, counted.stay_us = num_done, stay_us
  if num_cut > 0 then counted.done_length = num_cut end
end
local duplicates, needs_rules = 0, #others > 0
