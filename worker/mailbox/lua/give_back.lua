-- GIVE_BACK: the engine failed on what this worker holds. All of it goes back to the queue, the attempt counted.
-- ARGV: worker. Returns the number of requests.
local returned = take_from(ARGV[1], 0)
close()
return returned
