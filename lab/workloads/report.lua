-- Prints one line a second that a program can read, with the latencies of that second.
--
-- sysbench prints its histogram only at the very end, and only when it ended by --time. But it merges the counts of
-- each second into temp_array before it reports (src/sb_histogram.c, sb_histogram_get_pct_intermediate), and that
-- array is in its exported symbols: with it any span of seconds has its percentiles. The structure is the same in
-- every release from 1.0.0 on.

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
]]

local known, histogram = pcall(function() return ffi.C.sb_latency_histogram end)
if not known then
  error("this sysbench (" .. tostring(sysbench.version) .. ") does not show its latencies: 1.0.0 or later is needed")
end

local function buckets()
  local found = {}
  for index = 0, tonumber(histogram.array_size) - 1 do
    local count = tonumber(histogram.temp_array[index])
    if count > 0 then
      found[#found + 1] = string.format("%d:%d", index, count)
    end
  end
  return string.format("%.12g;%.12g;%s", histogram.range_deduct, histogram.range_mult, table.concat(found, ","))
end

function sysbench.hooks.report_intermediate(stat)
  io.stdout:write(string.format(
    "@second elapsed=%.3f interval=%.6f events=%d errors=%d queue=%d p99=%.9f buckets=%s\n",
    stat.time_total, stat.time_interval, stat.events, stat.errors, stat.queue_length, stat.latency_pct, buckets()))
  io.stdout:flush()
end
