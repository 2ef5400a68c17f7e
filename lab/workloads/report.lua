-- Prints one line a second that a program can read, with the latencies of that second.
--
-- sysbench prints its histogram only at the very end, and only when it ended by --time. But it merges the counts of
-- each second into temp_array before it reports (src/sb_histogram.c, sb_histogram_get_pct_intermediate), and that
-- array is in its exported symbols: with it any span of seconds has its percentiles. A test that tells its reads from
-- its writes has a second histogram, of the reads alone (reads.lua).

local histograms = require("histograms")

-- A test that measures its reads sets this to a function that returns their histogram, merged for the second.
local report = {reads = nil}

function sysbench.hooks.report_intermediate(stat)
  local reads = report.reads and " reads=" .. histograms.buckets(report.reads()) or ""
  io.stdout:write(string.format(
    "@second interval=%.6f events=%d errors=%d queue=%d p99=%.9f buckets=%s%s\n",
    stat.time_interval, stat.events, stat.errors, stat.queue_length, stat.latency_pct,
    histograms.buckets(histograms.all), reads))
  io.stdout:flush()
end

return report
