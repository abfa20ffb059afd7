-- OBSERVE: everything that metrics are made of, at one moment. ARGV: seconds without a turn allowed to a live worker.
-- Returns { moment now, moments before... as JSON }, counts, totals, { worker, its hash }..., gauges in the order below.
local LOOK_AT = 64 -- those that began first
local FACTS = { 'num_running', 'num_waiting', 'kv_reserved_tokens', 'kv_budget_tokens', 'max_slots',
  'max_prefill_rows', 'computed_tokens_per_s', 'role' }
call('XLEN', 'miniserve:live') -- no other script would put it away where it is no stream
local moments = call('LRANGE', HISTORY, 0, -1)
moments[#moments + 1] = moment(now)

local workers, held_waiting = {}, 0
for _, worker in ipairs(call('ZRANGE', LEASES, 0, -1)) do
  local facts = fields_of('rq:worker:' .. worker, 'turned_at', unpack(FACTS))
  held_waiting = held_waiting + (number(facts.num_waiting, 0) or 0)
  if (number(facts.turned_at) or 0) >= now - tonumber(ARGV[1]) then
    local row = { worker }
    for _, name in ipairs(FACTS) do row[#row + 1] = facts[name] or '0' end
    workers[#workers + 1] = row
  end
end

local function age(id)
  local accepted_at = id and number(read(id, 'accepted_at').accepted_at, 0)
  return accepted_at and math.max(0, now - accepted_at) or 0
end

-- Not asked of the workers: one that stands still is forgotten after a minute, and what it holds is not. Many are begun
-- in the same moment, and their order is that of their ids.
local oldest_running = 0
for _, member in ipairs(call('ZRANGE', WIP, 0, LOOK_AT - 1)) do
  oldest_running = math.max(oldest_running, age((owner_of(member))))
end
local used_memory, max_memory, policy = memory_facts()
local refused = redis.pcall('DEL', 'miniserve:nothing') -- Redis refuses it as it refuses any other write
local num_open = call('HLEN', RESERVATIONS)
return {
  moments,
  call('HGETALL', COUNTS),
  call('HGETALL', TOTALS),
  workers,
  call('ZCOUNT', APIS, now - API_TTL_S, '+inf'),
  num_queued(),
  num_open,
  math.max(0, call('ZCARD', WIP) - held_waiting), -- running
  tostring(math.max(age(call('LINDEX', QUEUE, 0)), age(call('LINDEX', ASYNC, 0)), age(call('LINDEX', DECODE, 0)))),
  tostring(oldest_running),
  call('ZCARD', registry_of('failed')) - #failed_by_others(),
  used_memory,
  max_memory,
  policy,
  foreign_workers(),
  type(refused) == 'table' and refused.err or '',
  call('EXISTS', SUSPENDED),
}
