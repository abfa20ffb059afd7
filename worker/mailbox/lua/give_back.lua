-- GIVE_BACK: the engine failed on what this worker holds. As if the worker had died with it.
-- ARGV: worker. Returns the number of requests.
local returned = take_from(ARGV[1], true)
close()
return returned
