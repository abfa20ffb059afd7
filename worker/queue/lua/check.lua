-- CHECK: what became of jobs. ARGV: ids. Returns per id { state, base64 payload }.
local states = {}
for at, id in ipairs(ARGV) do states[at] = state_of(id) end
return states
