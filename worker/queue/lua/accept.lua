-- ENQUEUE: accept the jobs of HTTP requests, or attach to those known, or refuse them: of each request all or none. One
-- script, so that N API replicas never overshoot the bound and nothing of a refused text stays behind.
-- ARGV: channel, greatest number of requests, of tokens, memory in bytes of a Redis without a limit of its own; then each HTTP
-- request as JSON (formats.py: encode_submission).
-- Returns per request { 'accepted' | 'attached' | 'conflict' }; { 'known', id }: the key stands for that request, and its
-- jobs are to be asked for; { 'full', ... }, { 'share', ... }, { 'memory', ... }, { 'late', ... } and { 'limit', ... } with the
-- numbers of the refusal; { 'fault', what cannot be read }.
local own_channel, max_requests, max_tokens, max_memory = unpack(ARGV, 1, 4)
max_requests, max_tokens = tonumber(max_requests), tonumber(max_tokens)
local FIRST = 5
local sums = counts('reserved_requests', 'reserved_tokens', 'service_rate', 'used_memory', 'max_memory', 'accepted', 'law_us')
local num_open, num_tokens, rate = sums.reserved_requests, sums.reserved_tokens, sums.service_rate
-- As a beat or a report saw it within the last second; 0 where no user of ours may ask. What was accepted must always find
-- room to run and to end, so that a quarter is left for it; what is kept for ten minutes is refused first.
local MEMORY_SHARE, KEPT_SHARE = 3 / 4, 1 / 2
max_memory = sums.max_memory > 0 and sums.max_memory or tonumber(max_memory)
local pushed, pushed_async = {}, {} -- each accepted a microsecond after the one before, so that their order outlives their worker

-- A Redis without memory refuses a script at its first write, if that needs some, and this is it: nothing half done.
local function write_job(job, wanted, channel)
  local num_before = #pushed + #pushed_async
  call('HSET', 'rq:job:' .. job.id, 'data', job.data, 'created_at', iso_now(), 'enqueued_at', iso_now(),
    'description', 'correct: at most ' .. job.tokens .. ' tokens', 'origin', wanted.is_async and 'correct-async' or 'correct',
    'status', 'queued', 'ticket', string.format('%s %.6f %d %d %s', channel, now + num_before / 1000000, wanted.ttl, job.tokens, wanted.deadline))
  reserved[#reserved + 1] = job.id
  reserved[#reserved + 1] = job.tokens .. ' ' .. wanted.client
  local list = wanted.is_async and pushed_async or pushed
  list[#list + 1] = job.id
end

-- A request, and its tokens. Raises for what is none, before anything is written for it or for its neighbours.
local function decode(text)
  local wanted, tokens = cjson.decode(text), 0
  for _, job in ipairs(wanted.jobs) do
    assert(job.tokens >= 1 and #job.id > 0 and #job.data > 0)
    tokens = tokens + job.tokens
  end
  assert(wanted.ttl >= 1 and #wanted.client >= 0 and (wanted.within_s or 0) >= 0)
  return wanted, tokens
end

local replies, others, ACCEPTED, num_before = {}, {}, { 'accepted' }, num_open
for at = FIRST, #ARGV do
  local is_sound, wanted, new_tokens = pcall(decode, ARGV[at])
  local jobs = is_sound and #others == 0 and wanted.is_plain and wanted.jobs
  -- In a queue that is half empty there is room for anybody. Nothing overtakes what must be looked at.
  if jobs and num_open + #jobs <= max_requests / 2 and num_tokens + new_tokens <= max_tokens / 2
    and sums.used_memory <= max_memory * MEMORY_SHARE and (rate == 0 or num_tokens + new_tokens <= rate * wanted.within_s) then
    wanted.deadline = string.format('%.6f', now + wanted.within_s)
    for _, job in ipairs(jobs) do write_job(job, wanted, own_channel) end
    num_open, num_tokens = num_open + #jobs, num_tokens + new_tokens
    replies[at - FIRST + 1] = ACCEPTED
  else
    others[#others + 1] = at
  end
end
counted.reserved_requests, counted.reserved_tokens = num_open - num_before, num_tokens - sums.reserved_tokens
counted.accepted, counted.law_us = num_open - num_before, -law_us * (num_open - num_before)

if #others == 0 then
  in_slices('RPUSH', QUEUE, pushed)
  close()
  return replies
end
