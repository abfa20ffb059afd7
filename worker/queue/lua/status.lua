-- STATUS: for /readyz and refusals. ARGV: seconds in which the loop of a live worker must have iterated.
-- Returns { live workers, waiting jobs, accepted and unfinished ones, answered jobs, failed or late jobs, 1 if RQ's workers are
-- suspended }
-- A lease does not show that a worker lives: a heartbeat goes on for a while when the loop hangs.
local oldest = now - tonumber(ARGV[1])
local num_live, roles = 0, {}
for _, worker in ipairs(call('ZRANGE', LEASES, 0, -1)) do
  local facts = fields_of('rq:worker:' .. worker, 'turned_at', 'role')
  if (number(facts.turned_at) or 0) >= oldest then -- none before its first beat
    num_live, roles[facts.role or 'all'] = num_live + 1, true
  end
end
if not (roles.all or roles.prefill and roles.decode) then num_live = 0 end -- one pool alone answers nobody
local sums = counts('done', 'failed', 'expired', 'expired_own')
return {
  num_live,
  num_queued(),
  call('HLEN', RESERVATIONS),
  sums.done,
  sums.failed + sums.expired - sums.expired_own,
  call('EXISTS', SUSPENDED),
}
