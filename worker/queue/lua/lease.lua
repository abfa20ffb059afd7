-- How DRAIN and TAKE_OVER begin: renew the lease, and learn from the inbox what is to be dropped. ARGV: worker, lease s, epoch, free
-- tokens, most jobs, number held; TAKE_OVER has no more: number of those held that somebody waits for, seconds that a request took
-- lately from its start to its end, number of asynchronous requests that the worker may take while there are others.
-- Returns { 1 where the worker must RESYNC, ids to drop, 1 where what comes next must wait for what the worker holds, id of
-- it where it does not fit, number of asynchronous requests that still wait, deliveries }
local worker, lease_s, epoch, free_tokens, max_jobs, num_held, num_others, service_s, more_async = unpack(ARGV)
free_tokens, max_jobs, num_held = tonumber(free_tokens), tonumber(max_jobs), tonumber(num_held)
local inbox, known_epoch, cancelled = call('HGETALL', 'miniserve:inbox:' .. worker), nil, {}
for at = 1, #inbox, 2 do
  if inbox[at] == 'epoch' then known_epoch = inbox[at + 1] else cancelled[#cancelled + 1] = inbox[at] end
end
local leased_until_s = call('ZSCORE', LEASES, worker)

-- The first write is one that a Redis without memory takes: then it takes the others, and what was accepted can end.
local claimed = call('LPOP', 'miniserve:claim:' .. worker, 1000) or {}
-- An old DRAIN may arrive long after its connection broke; what it took would be with nobody. Without a lease others may have
-- taken the worker's work in the meantime.
if known_epoch ~= epoch or not leased_until_s then
  push_front(claimed)
  return { 1, {}, 0, '', 0, {} }
end
in_slices('HDEL', 'miniserve:inbox:' .. worker, cancelled)
-- Each beat renews the lease, and here it is renewed where half of it is over.
if tonumber(leased_until_s) < now + tonumber(lease_s) / 2 then call('ZADD', LEASES, now + tonumber(lease_s), worker) end
local must_wait, deferred, deliveries, bytes = 0, '', {}, 0

