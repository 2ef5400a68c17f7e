-- Four point reads to one update of a column without an index, each a transaction of its own, in random order.

require("oltp_common")
require("keys")

local ffi = require("ffi")
local histograms = require("histograms")
local report = require("report")

ffi.cdef [[
typedef struct { long seconds; long nanoseconds; } innobrim_time;
int clock_gettime(int clock, innobrim_time *now);
]]

local MONOTONIC = 1
local READS_OF_FIVE = 4

local reads = histograms.shared("READS")
local now = ffi.new("innobrim_time")

local function milliseconds()
  ffi.C.clock_gettime(MONOTONIC, now)
  return tonumber(now.seconds) * 1e3 + tonumber(now.nanoseconds) / 1e6
end

function report.reads()
  return histograms.gather(reads)
end

function prepare_statements()
  sysbench.opt.point_selects = 1
  prepare_point_selects()
  prepare_non_index_updates()
end

function event()
  if sysbench.rand.uniform(1, 5) > READS_OF_FIVE then
    execute_non_index_updates()
  else
    local began = milliseconds()
    execute_point_selects()
    histograms.add(reads, milliseconds() - began)
  end
end
