-- STATUS: workers heard of lately, waiting, reserved tokens, reserved requests, tokens/s. ARGV: lease s, seconds of silence allowed.
local last_beat_expires = clock() - tonumber(ARGV[2]) + tonumber(ARGV[1])
local rate = 0
for _, worker_rate in ipairs(redis.call('HVALS', 'miniserve:rates')) do rate = rate + tonumber(worker_rate) end
return {
  redis.call('ZCOUNT', LEASES, last_beat_expires, '+inf'),
  redis.call('LLEN', QUEUE),
  tonumber(redis.call('GET', RESERVED_TOKENS) or 0),
  redis.call('HLEN', RESERVATIONS),
  tostring(rate),
}
