-- STATUS: workers heard of lately, waiting, reserved tokens, reserved requests, tokens/s. ARGV: lease s, seconds of silence allowed.
local last_beat_expires = clock() - tonumber(ARGV[2]) + tonumber(ARGV[1])
return {
  redis.call('ZCOUNT', LEASES, last_beat_expires, '+inf'),
  redis.call('LLEN', QUEUE),
  tonumber(redis.call('GET', RESERVED_TOKENS) or 0),
  redis.call('HLEN', RESERVATIONS),
  tostring(service_rate()),
}
