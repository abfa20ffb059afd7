-- DRAIN: deliver what was claimed and this worker's share of the queue, as far as they fit.
-- Suspects, which an earlier worker died with, are delivered in their groups: to a worker that holds nothing, and with no
-- other job. Asynchronous jobs come first, but beside others only `more_async` of them.
-- A job takes about as long as the jobs beside it did. A job that would be late is dropped now: started, it would take
-- capacity and end without an answer, and an overloaded worker would answer nobody.
local needed_s = num_held > 0 and tonumber(service_s) or 0
local depth, num_async = 0, 0
if max_jobs > 0 then depth, num_async = call('LLEN', QUEUE), call('LLEN', ASYNC) end
local workers = depth + num_async > 1 and math.max(1, counts('takers').takers) or 1
-- No more ids than may fit: a nearly full worker would read a thousand of them each time.
local LEAST_TOKENS = 16 -- of a job; a smaller one waits for the next DRAIN
local most = math.min(max_jobs, math.ceil(free_tokens / LEAST_TOKENS))
local share = math.min(math.ceil(depth / workers), most)

local started, run_until_s = {}, string.format('%.3f', now + WIP_TTL_S)
local num_taken, num_async_taken, async_at, group = 0, 0, 0, nil
local load -- reads a job of any kind, and ends one that must not run
local needs_rules = num_async > 0

-- Returns false if this job must wait, and with it all behind it: no job is overtaken.
local function take(id, is_async)
  if must_wait == 1 or #deliveries >= max_jobs or bytes >= MOST_BYTES then return false end
  local row, tokens, own_group
  if load then
    row, tokens, own_group = load(id)
    if not row then return true end
  else
    local status, special, ticket, data = unpack(redis.pcall('HMGET', 'rq:job:' .. id, 'status', 'special', 'ticket', 'data'))
    local accepted_at, reservation, deadline = string.match(ticket or '', '^%S+ (%S+) %d+ (%d+) (%S+)$')
    local deadline_s, since_s = number(deadline), number(accepted_at, 0)
    tokens = number(reservation, 1, MOST_TOKENS)
    if status ~= 'queued' or special or not (deadline_s and since_s and tokens and data) or #data > MAX_DATA_BYTES
      or deadline_s < now + needed_s then
      needs_rules = true
      return false
    end
    row = { id, 1, math.max(0, math.floor((now - since_s) * 1000000)), data, '',
      math.min(math.floor((deadline_s - now) * 1000000), 1e15), 0, 0, ticket }
  end
  if own_group and num_held > 0 or #deliveries > 0 and own_group ~= group then
    must_wait = 1
    return false
  end
  if tokens > free_tokens then
    if not is_async then must_wait, deferred = 1, id end
    return false
  end
  call('HSET', 'rq:job:' .. id, 'status', 'started', 'started_at', iso_now(), 'worker_name', worker)
  -- From here on an asynchronous job goes through the registries of the other queue.
  if load then call('HSET', 'rq:job:' .. id, 'ended_at', '', 'origin', 'correct') end
  started[#started + 1] = run_until_s
  started[#started + 1] = id .. ':' .. worker
  group, free_tokens, bytes = own_group, free_tokens - tokens, bytes + #row[4]
  deliveries[#deliveries + 1] = row
  if is_async then num_async_taken = num_async_taken + 1 end
  return true
end

local ids, num_claimed = claimed, #claimed -- first what was claimed, then the share of the queue
if depth > 0 then
  for _, id in ipairs(call('LRANGE', QUEUE, 0, share - 1)) do ids[#ids + 1] = id end
end
if not needs_rules then
  while num_taken < #ids and take(ids[num_taken + 1]) do num_taken = num_taken + 1 end
end
