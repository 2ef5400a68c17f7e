-- Inserts a row a transaction into one table with six secondary indexes over random values, so that nearly every
-- transaction dirties a page of each index. After the load of "The Quirks of Index Maintenance in Open Source
-- Databases" (percona.com): three columns of random UUIDs; its six wide indexes are taken to be their six orders.

require("report")

sysbench.cmdline.options = {
  table_size = {"Rows at the start", 100000},
  tables = {"Not used", 1},
}

local ORDERS = {"a, b, c", "a, c, b", "b, a, c", "b, c, a", "c, a, b", "c, b, a"}

local function word()
  return sysbench.rand.uniform(0, 65535)
end

-- A random (version 4) UUID.
local function uuid()
  return string.format("%04x%04x-%04x-4%03x-%04x-%04x%04x%04x", word(), word(), word(),
    sysbench.rand.uniform(0, 4095), sysbench.rand.uniform(0x8000, 0xbfff), word(), word(), word())
end

local function values()
  return string.format("('%s', '%s', '%s')", uuid(), uuid(), uuid())
end

function prepare()
  local connection = sysbench.sql.driver():connect()
  connection:query([[
CREATE TABLE many_indexes (
  id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  a CHAR(36) CHARACTER SET ascii NOT NULL,
  b CHAR(36) CHARACTER SET ascii NOT NULL,
  c CHAR(36) CHARACTER SET ascii NOT NULL
) ENGINE = InnoDB]])
  connection:bulk_insert_init("INSERT INTO many_indexes (a, b, c) VALUES")
  for _ = 1, sysbench.opt.table_size do
    connection:bulk_insert_next(values())
  end
  connection:bulk_insert_done()
  local keys = {}
  for number, columns in ipairs(ORDERS) do
    keys[number] = string.format("ADD KEY k%d (%s)", number, columns)
  end
  connection:query("ALTER TABLE many_indexes " .. table.concat(keys, ", "))
end

function cleanup()
  sysbench.sql.driver():connect():query("DROP TABLE IF EXISTS many_indexes")
end

function thread_init()
  driver = sysbench.sql.driver()
  connection = driver:connect()
end

function event()
  connection:query("INSERT INTO many_indexes (a, b, c) VALUES " .. values())
end

function thread_done()
  connection:disconnect()
end
