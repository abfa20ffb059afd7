-- DRAIN: hand over what was claimed and this worker's share of the queue, as far as it fits.
-- Suspects, which an earlier worker died with, come in their groups: to a worker that holds nothing, and with nothing else.
-- So many asynchronous requests come first as the worker may take while there are others; the others come behind them; and
-- where there are no others, all that fits.
-- Beside others it will take as long as they did: who would be late is dropped now. If it were started, an overloaded
-- worker would spend all its tokens on requests whose deadline comes while they run, and answer nobody.
local needed_s = num_held > 0 and tonumber(service_s) or 0
local depth, num_async = 0, 0
if max_jobs > 0 then depth, num_async = call('LLEN', QUEUE), call('LLEN', ASYNC) end
local workers = depth + num_async > 1 and math.max(1, counts('takers').takers) or 1
-- Not more ids than fit: a worker that is nearly full would read a thousand of them each time.
local LEAST_TOKENS = 16 -- of a request; what reserves less comes with the next DRAIN
local most = math.min(max_jobs, math.ceil(free_tokens / LEAST_TOKENS))
local share = math.min(math.ceil(depth / workers), most)

local started = {}
local run_until_s = string.format('%.3f', now + WIP_TTL_S)

-- A plain job, if this is one and fits. Nothing else is read for it.
local function start_plain(id)
  local status, special, ticket, data = unpack(redis.pcall('HMGET', 'rq:job:' .. id, 'status', 'special', 'ticket', 'data'))
  local accepted_at, tokens, deadline = string.match(ticket or '', '^%S+ (%S+) %d+ (%d+) (%S+)$')
  local until_s, since_s, num_tokens = number(deadline), number(accepted_at, 0), number(tokens, 1, MOST_TOKENS)
  if status ~= 'queued' or special or not (until_s and since_s and num_tokens and data) or #data > MAX_DATA_BYTES
    or until_s < now + needed_s or #deliveries >= max_jobs or bytes >= MOST_BYTES then return false end
  if num_tokens > free_tokens then
    must_wait, deferred = 1, id
    return false
  end
  call('HSET', 'rq:job:' .. id, 'status', 'started', 'started_at', iso_now(), 'worker_name', worker)
  started[#started + 1] = run_until_s
  started[#started + 1] = id .. ':' .. worker
  free_tokens, bytes = free_tokens - num_tokens, bytes + #data
  deliveries[#deliveries + 1] = { id, 1, math.max(0, math.floor((now - since_s) * 1000000)), data, '',
    math.min(math.floor((until_s - now) * 1000000), 1e15), 0, 0, ticket }
  return true
end

local num_claimed, taken = 0, 0
if num_async == 0 then
  while num_claimed < #claimed and start_plain(claimed[num_claimed + 1]) do num_claimed = num_claimed + 1 end
  if num_claimed == #claimed and depth > 0 then
    for _, id in ipairs(call('LRANGE', QUEUE, 0, share - 1)) do
      if not start_plain(id) then break end
      taken = taken + 1
    end
  end
end

if must_wait == 1 or num_async == 0 and num_claimed == #claimed and taken == share then
  push_front(claimed, num_claimed + 1)
  if taken > 0 then call('LTRIM', QUEUE, taken, -1) end
  if #started > 0 then in_slices('ZADD', WIP, started) end
  return { 0, cancelled, must_wait, deferred, num_async, deliveries }
end
