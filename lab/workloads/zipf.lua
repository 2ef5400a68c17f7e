-- Zipf's distribution: rank k of n is drawn with a probability in proportion to k ^ -exponent.
--
-- sysbench 1.0 has none. Rejection-inversion needs no table, so that every thread may draw from millions of rows:
-- W. Hörmann, G. Derflinger, "Rejection-inversion to generate variates from monotone discrete distributions",
-- ACM TOMACS 6 (1996) 169-184. The hat is x ^ -exponent, its integral H(x) = (x ^ (1 - exponent) - 1) / (1 - exponent).

local zipf = {}

-- Returns a function that draws a rank from 1 to n; `uniform` draws from [0, 1).
function zipf.sampler(n, exponent, uniform)
  local power = 1 - exponent
  local integral, inverse
  if math.abs(power) < 1e-9 then
    integral, inverse = math.log, math.exp
  else
    integral = function(x) return (x ^ power - 1) / power end
    inverse = function(y) return (1 + y * power) ^ (1 / power) end
  end
  local function hat(x) return x ^ -exponent end

  local low = integral(1.5) - 1 -- the first rank's column has its full height of 1
  local high = integral(n + 0.5)
  local squeeze = 2 - inverse(integral(2.5) - hat(2)) -- within it a rank is accepted without a look at the hat

  return function()
    while true do
      local y = low + (high - low) * uniform()
      local x = inverse(y)
      local rank = math.min(n, math.max(1, math.floor(x + 0.5)))
      if rank - x <= squeeze or y >= integral(rank + 0.5) - hat(rank) then
        return rank
      end
    end
  end
end

return zipf
