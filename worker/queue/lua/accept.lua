-- ENQUEUE: accept the jobs of HTTP requests, attach to known ones, or refuse: of each request all jobs or none. It is one
-- script so that several API replicas never exceed the bound.
-- ARGV: channel, most requests, most tokens, memory in bytes of a Redis without a limit of its own; then each HTTP request
-- as JSON (formats.py: encode_submission).
-- Returns per request { 'accepted' | 'attached' | 'conflict' }; { 'known', id of the request that has this key }; a refusal
-- with its numbers: { 'full' | 'share' | 'memory' | 'late' | 'limit', ... }; or { 'fault', what cannot be read }.
local own_channel, max_requests, max_tokens, max_memory = unpack(ARGV, 1, 4)
max_requests, max_tokens = tonumber(max_requests), tonumber(max_tokens)
local FIRST = 5
local sums = counts('reserved_requests', 'reserved_tokens', 'service_rate', 'used_memory', 'max_memory', 'accepted', 'law_us')
local num_open, num_tokens, rate = sums.reserved_requests, sums.reserved_tokens, sums.service_rate
-- A quarter of the memory is left for accepted jobs to run and end. Requests that are kept for ten minutes are refused first.
-- The used memory was read within the last second; it is 0 if our user may not read it.
local MEMORY_SHARE, KEPT_SHARE = 3 / 4, 1 / 2
max_memory = sums.max_memory > 0 and sums.max_memory or tonumber(max_memory)
local pushed, pushed_async = {}, {}
local attach, forget -- for known jobs; they need the rules

-- Raises for what is no request, before anything is written for it. Returns the request and its tokens.
local function decode(text)
  local wanted, tokens = cjson.decode(text), 0
  for _, job in ipairs(wanted.jobs) do
    assert(job.tokens >= 1 and #job.id > 0 and #job.data > 0)
    tokens = tokens + job.tokens
  end
  assert(wanted.ttl >= 1 and #wanted.client >= 0 and (wanted.within_s or 0) >= 0)
  wanted.deadline = wanted.within_s and string.format('%.6f', now + wanted.within_s) or ''
  return wanted, tokens
end

-- The first write is this HSET, which a Redis without memory refuses: nothing is half done. Each job is accepted a
-- microsecond after the one before, so that jobs taken back from a dead worker keep their order.
local function accept(wanted)
  local channel, list = own_channel, pushed
  if wanted.is_async then channel, list = '-', pushed_async end
  -- The ticket says all of any other job, and stays true until the job ends.
  local is_special = wanted.may_be_known or wanted.streams or wanted.is_async or wanted.record or wanted.is_own_deadline
  for _, job in ipairs(wanted.jobs) do
    if job.reply_to then
      attach(wanted, job, channel)
    else
      call('HSET', 'rq:job:' .. job.id, 'data', job.data, 'created_at', iso_now(), 'enqueued_at', iso_now(),
        'description', 'correct: at most ' .. job.tokens .. ' tokens', 'origin', wanted.is_async and 'correct-async' or 'correct',
        'status', 'queued', 'ticket', string.format('%s %.6f %d %d %s', channel, now + #reserved / 2000000, wanted.ttl, job.tokens, wanted.deadline))
      if is_special then
        call('HSET', 'rq:job:' .. job.id, 'special', 1, 'streams', wanted.streams and 1 or '',
          'request', wanted.record and wanted.record.id or '', 'own_deadline', wanted.is_own_deadline and 1 or '')
      end
      if wanted.may_be_known then forget(job.id) end
      reserved[#reserved + 1] = job.id
      reserved[#reserved + 1] = job.tokens .. ' ' .. wanted.client
      list[#list + 1] = job.id
      num_open, num_tokens = num_open + 1, num_tokens + job.tokens
    end
  end
end

local replies, ACCEPTED, at = {}, { 'accepted' }, FIRST
while at <= #ARGV do
  local is_sound, wanted, new_tokens = pcall(decode, ARGV[at])
  -- A queue that is half empty has room for every client. The first request that needs more checks ends this loop, so that
  -- none is overtaken.
  if not is_sound or wanted.may_be_known or wanted.limits or wanted.record
    or num_open + #wanted.jobs > max_requests / 2 or num_tokens + new_tokens > max_tokens / 2 or sums.used_memory > max_memory * MEMORY_SHARE
    or wanted.within_s and rate > 0 and num_tokens + new_tokens > rate * wanted.within_s then break end
  if not pcall(accept, wanted) then break end -- Redis has no memory
  replies[#replies + 1], at = ACCEPTED, at + 1
end
local needs_rules = at <= #ARGV
