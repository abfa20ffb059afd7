-- The beginning of DRAIN and of TAKE_OVER: renew the lease, and read from the inbox what the worker is to drop.
-- ARGV: worker, lease in s, epoch, free tokens, most jobs, number of jobs held. DRAIN has three more: the number of held jobs
-- that a client waits for; the seconds that a request took lately from its start to its end; the number of asynchronous jobs
-- that the worker may take beside others.
-- Returns { 1 if the worker must RESYNC, ids to drop, 1 if the next job must wait for those that the worker holds, its id if
-- it does not fit, number of asynchronous jobs that still wait, deliveries }
local worker, lease_s, epoch, free_tokens, max_jobs, num_held, num_others, service_s, more_async = unpack(ARGV)
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
local must_wait, deferred, deliveries, bytes = 0, '', {}, 0

-- { id, attempt, us waited, data, streams, us until the deadline or -1, 1 for a suspect, 1 for an asynchronous job, ticket }.
-- The worker gives the ticket back to FINISH; it is '' for a job that another client may attach to.
local function delivery(id, job)
  local waited_s, left_s = now - (job.accepted_at or now), (job.deadline or now) - now
  return { id, (job.num_deaths or 0) + 1, math.max(0, math.min(math.floor(waited_s * 1000000), 1e15)),
    string.sub(job.data, 1, MAX_DATA_BYTES + 1), job.streams or '',
    job.deadline and math.max(0, math.min(math.floor(left_s * 1000000), 1e15)) or -1,
    job.group and 1 or 0, job.reply_to == '-' and 1 or 0, job.ticket }
end
