-- LEAVE: the worker goes. What it still holds goes back to the queue, under no suspicion, and its registration goes with it.
local returned = take_from(ARGV[1])
unregister(ARGV[1])
close()
return returned
