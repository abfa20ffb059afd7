-- DRAIN: deliver what was claimed and this worker's share of the queue, as far as they fit.
-- Suspects, which an earlier worker died with, are delivered in their groups: to a worker that holds nothing, and with no
-- other job. Asynchronous jobs come first, but beside others only `more_async` of them.
local depth, num_async = 0, 0
if max_jobs > 0 then depth, num_async = call('LLEN', QUEUE), is_decoder and 0 or call('LLEN', ASYNC) end
local workers = not is_decoder and depth + num_async > 1 and math.max(1, counts('takers').takers) or 1
-- No more ids than may fit: a nearly full worker would read a thousand of them each time.
local LEAST_TOKENS = 16 -- of a job; a smaller one waits for the next DRAIN
local most = math.min(max_jobs, math.ceil(free_tokens / LEAST_TOKENS))
local share = math.min(math.ceil(depth / workers), most)

local num_taken, async_at, ids, num_claimed = 0, 0, claimed, #claimed -- ids: first what was claimed, then the share of the queue
if depth > 0 then
  for _, id in ipairs(call('LRANGE', QUEUE, 0, share - 1)) do ids[#ids + 1] = id end
end
needs_rules = num_async > 0
if not needs_rules then
  while num_taken < #ids and take(ids[num_taken + 1]) do num_taken = num_taken + 1 end
end
