-- sysbench's histograms of latencies, in milliseconds: the one that it keeps of all events, and any of our own.
--
-- The structure is the same in every release from 1.0.0 on; the lock at its end is left to sysbench. Its functions go
-- by names of ours, since sysbench has declared some of them already, with a type that shows nothing.

local ffi = require("ffi")

ffi.cdef [[
typedef struct {
  uint64_t *cumulative_array;
  uint64_t cumulative_nevents;
  uint64_t *temp_array;
  uint64_t **interm_slots;
  size_t array_size;
  double range_min;
  double range_max;
  double range_deduct;
  double range_mult;
} innobrim_histogram;
extern innobrim_histogram sb_latency_histogram;
innobrim_histogram *innobrim_new(size_t size, double range_min, double range_max) __asm__("sb_histogram_new");
void innobrim_update(innobrim_histogram *h, double value) __asm__("sb_histogram_update");
double innobrim_merge(innobrim_histogram *h, double percentile) __asm__("sb_histogram_get_pct_intermediate");
int setenv(const char *name, const char *value, int overwrite);
]]

local known, all = pcall(function() return ffi.C.sb_latency_histogram end)
if not known then
  error("this sysbench (" .. tostring(sysbench.version) .. ") does not show its latencies: 1.0.0 or later is needed")
end

local histograms = {all = all}

-- Returns what the last second had, as text: deduct;factor;index:count,…
function histograms.buckets(histogram)
  local found = {}
  for index = 0, tonumber(histogram.array_size) - 1 do
    local count = tonumber(histogram.temp_array[index])
    if count > 0 then
      found[#found + 1] = string.format("%d:%d", index, count)
    end
  end
  return string.format("%.12g;%.12g;%s", histogram.range_deduct, histogram.range_mult, table.concat(found, ","))
end

-- Returns a histogram that all threads share, with the steps of sysbench's own.
--
-- Each thread loads the test anew into a Lua state of its own, the first time before any thread runs: that one makes
-- the histogram, and its address goes to the others through the environment of the process.
function histograms.shared(name)
  local place = "INNOBRIM_HISTOGRAM_" .. name
  local address = os.getenv(place)
  if address == nil then
    local made = ffi.C.innobrim_new(all.array_size, all.range_min, all.range_max)
    ffi.C.setenv(place, string.format("%.0f", tonumber(ffi.cast("uintptr_t", made))), 1)
    return made
  end
  return ffi.cast("innobrim_histogram *", ffi.cast("uintptr_t", tonumber(address)))
end

function histograms.add(histogram, milliseconds)
  ffi.C.innobrim_update(histogram, milliseconds)
end

-- Gathers what all threads have added since it was last asked, for buckets().
function histograms.gather(histogram)
  ffi.C.innobrim_merge(histogram, 99)
  return histogram
end

return histograms
