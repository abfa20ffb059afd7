-- WATCH: somebody looks at the workers; each that lives hears of it with its next beat, and goes on for some seconds.
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', LEASES, clock(), '+inf')) do
  redis.call('SADD', 'miniserve:cancel:' .. worker, '!watch')
  redis.call('EXPIRE', 'miniserve:cancel:' .. worker, 5)
end
return 0
