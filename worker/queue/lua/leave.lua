-- LEAVE: put the jobs of a worker that stops back into the queue, under no suspicion, and unregister it.
-- ARGV: worker, '1' if it stays because its engine failed: its jobs are then suspects. Returns their number.
local worker, has_failed = ARGV[1], ARGV[2] == '1'
local returned = take_from(worker, has_failed)
if not has_failed then unregister(worker) end
close()
return returned
