-- LEAVE: the worker goes. What it still holds goes back to the queue, under no suspicion, and its registration goes with it.
-- ARGV: worker, '1' where it stays: its engine failed on what it holds, as if it had died with it. Returns the number of requests.
local worker, has_failed = ARGV[1], ARGV[2] == '1'
local returned = take_from(worker, has_failed)
if not has_failed then unregister(worker) end
close()
return returned
