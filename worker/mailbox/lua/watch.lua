-- WATCH: somebody looks at the workers; each that lives hears of it with its next beat, and goes on for some seconds.
for _, worker in ipairs(redis.call('ZRANGEBYSCORE', LEASES, clock(), '+inf')) do
  redis.call('SET', 'miniserve:watch:' .. worker, 1, 'EX', 5)
end
return 0
