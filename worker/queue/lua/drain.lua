push_front(ids, num_taken + 1, num_claimed)
if num_taken > num_claimed then call('LTRIM', QUEUE, num_taken - num_claimed, -1) end
if async_at > 0 then call('LTRIM', ASYNC, async_at, -1) end
if #started > 0 then in_slices('ZADD', WIP, started) end
close()
return { 0, cancelled, must_wait, deferred, num_async - async_at, deliveries }
