-- The beginning of DRAIN: renew the lease, and read from the inbox what the worker is to drop.
-- ARGV: worker, lease in s, epoch, free tokens, most jobs, number of jobs held, number of those that a client waits for, seconds
-- that a request took lately from its start to its end, number of asynchronous jobs that the worker may take beside others,
-- and the list that it takes from: DECODE for a decode worker.
-- Returns { 1 if the worker must RESYNC, ids to drop, 1 if the next job must wait for those that the worker holds, its id if
-- it does not fit, number of asynchronous jobs that still wait, deliveries }
local worker, lease_s, epoch, free_tokens, max_jobs, num_held, num_others, service_s, more_async, own_queue = unpack(ARGV)
local is_decoder = own_queue == DECODE
if is_decoder then QUEUE = DECODE end -- what is not taken goes back there
free_tokens, max_jobs, num_held = tonumber(free_tokens), tonumber(max_jobs), tonumber(num_held)
local inbox, known_epoch, cancelled = call('HGETALL', 'miniserve:inbox:' .. worker), nil, {}
for at = 1, #inbox, 2 do
  if inbox[at] == 'epoch' then known_epoch = inbox[at + 1] else cancelled[#cancelled + 1] = inbox[at] end
end
local leased_until_s = call('ZSCORE', LEASES, worker)

-- A Redis without memory takes this write, and then the others, so that accepted jobs can end.
local claimed = call('LPOP', 'miniserve:claim:' .. worker, 1000) or {}
-- An old DRAIN may arrive after its connection broke: nobody would read what it delivers. Without a lease, other workers may
-- have taken this worker's jobs.
if known_epoch ~= epoch or not leased_until_s then
  push_front(claimed)
  return { 1, {}, 0, '', 0, {} }
end
in_slices('HDEL', 'miniserve:inbox:' .. worker, cancelled)
-- Each beat renews the lease. DRAIN renews it only when half of it is over.
if tonumber(leased_until_s) < now + tonumber(lease_s) / 2 then call('ZADD', LEASES, now + tonumber(lease_s), worker) end

local must_wait, deferred, deliveries, bytes, num_async_taken, group = 0, '', {}, 0, 0, nil
local started, run_until_s = {}, string.format('%.3f', now + WIP_TTL_S)
-- A job takes about as long as the jobs beside it did. A job that would be late is dropped now: started, it would take
-- capacity and end without an answer, and an overloaded worker would answer nobody.
local needed_s = num_held > 0 and tonumber(service_s) or 0
local needs_rules = false
local load -- reads any job, and ends one that must not run: returns its delivery, tokens and group of suspects, or nil

-- Starts a job, or drops one that must not run. Returns false if it must wait, and with it all behind it: no job is
-- overtaken.
local function take(id, is_async)
  if must_wait == 1 or #deliveries >= max_jobs or bytes >= MOST_BYTES then return false end
  local row, tokens, own_group
  if load then
    row, tokens, own_group = load(id)
    if not row then return true end
  else
    local status, special, ticket, data, is_settled = unpack(redis.pcall('HMGET', 'rq:job:' .. id, 'status', 'special', 'ticket', 'data', 'accepted_at'))
    local accepted_at, reservation, deadline = string.match(ticket or '', '^%S+ (%d[%d.]*) %d+ (%d+) (%d[%d.]*)$')
    local deadline_s, since_s = tonumber(deadline or ''), tonumber(accepted_at or '')
    tokens = tonumber(reservation or '')
    if status ~= 'queued' or special or is_settled or not (deadline_s and since_s and data) or #data > MAX_DATA_BYTES
      or tokens < 1 or tokens > MOST_TOKENS or deadline_s < now + needed_s then
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
