-- Gives sysbench's own tests the distribution that it lacks. Load after the test, which defines its options.

local zipf = require("zipf")

sysbench.cmdline.options.zipf_exponent = {"Exponent of Zipf's distribution of the row ids; 0 leaves them to --rand-type", 0}

local given = sysbench.rand.default
local samplers = {}

function sysbench.rand.default(least, most)
  local exponent = sysbench.opt.zipf_exponent
  if exponent == 0 then
    return given(least, most)
  end
  local count = most - least + 1
  if samplers[count] == nil then
    samplers[count] = zipf.sampler(count, exponent, sysbench.rand.uniform_double)
  end
  return least + samplers[count]() - 1
end
