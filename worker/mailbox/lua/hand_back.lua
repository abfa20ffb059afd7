-- HAND_BACK: the worker returns requests unstarted or unfinished; that attempt does not count. ARGV: worker, ids.
local worker, ids = ARGV[1], {}
for at = 2, #ARGV do
  if redis.call('ZREM', WIP, ARGV[at] .. ':' .. worker) == 1 then ids[#ids + 1] = ARGV[at] end
end
return requeue(ids, 1)
