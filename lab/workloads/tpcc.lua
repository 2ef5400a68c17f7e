-- A mix after TPC-C: its five transactions at their usual shares, its key rules, its tables; without think times,
-- terminals bound to warehouses, or the standard's audit. One sysbench event is one transaction of any of the five,
-- the one new order in a hundred that is taken back included.

local tables = require("tpcc_tables")
require("report")

sysbench.cmdline.options = {
  table_size = {"Rows per warehouse at the start; 500,000 is the standard's size", 500000},
  tables = {"Warehouses", 1},
}

local LAST_NAME_RUN, CUSTOMER_RUN, ITEM_RUN = 86, 259, 7911 -- the run's constants of the standard's uneven draw

local function some(least, most)
  return sysbench.rand.uniform(least, most)
end

-- The standard's NURand: some keys are drawn more often than others.
local function uneven(width, run, least, most)
  return (bit.bor(some(0, width), some(least, most)) + run) % (most - least + 1) + least
end

local function ask(statement, ...)
  return connection:query_row(string.format(statement, ...))
end

local function tell(statement, ...)
  connection:query(string.format(statement, ...))
end

local function prepare_thread()
  local own = sysbench.sql.driver():connect()
  local items, customers = tables.sizes(sysbench.opt.table_size)
  tables.create(own)
  local first = sysbench.tid % sysbench.opt.threads
  if first == 0 then
    tables.fill_items(own, items)
  end
  for warehouse = first + 1, sysbench.opt.tables, sysbench.opt.threads do
    tables.fill_warehouse(own, warehouse, items, customers)
  end
end

sysbench.cmdline.commands = {prepare = {prepare_thread, sysbench.cmdline.PARALLEL_COMMAND}}

function cleanup()
  tables.drop(sysbench.sql.driver():connect())
end

function thread_init()
  driver = sysbench.sql.driver()
  connection = driver:connect()
  items, customers = tables.sizes(sysbench.opt.table_size)
  names = math.min(999, customers - 1)
end

function thread_done()
  connection:disconnect()
end

-- A lock wait that ran out leaves its transaction open.
function sysbench.hooks.before_restart_event()
  connection:query("ROLLBACK")
end

local function other_warehouse(home)
  local other = some(1, math.max(1, sysbench.opt.tables - 1))
  return other >= home and math.min(other + 1, sysbench.opt.tables) or other
end

-- Returns a customer's number: 60 of 100 are asked for by last name, of which the one in the middle is taken.
local function customer(w, d)
  local number = uneven(1023, CUSTOMER_RUN, 1, customers)
  if some(1, 100) > 60 then
    return number
  end
  local last = tables.last_name(uneven(255, LAST_NAME_RUN, 0, names))
  local found = connection:query(string.format(
    "SELECT id FROM tpcc_customer WHERE w_id = %d AND d_id = %d AND last = '%s' ORDER BY first", w, d, last))
  for _ = 1, math.ceil(found.nrows / 2) do
    number = tonumber(found:fetch_row()[1])
  end
  return number
end

local function order_line(w, d, o, number, item, supply)
  local price = ask("SELECT price FROM tpcc_item WHERE id = %d", item)
  if price == nil then
    return false
  end
  local quantity = some(1, 10)
  local left, info = ask("SELECT quantity, info FROM tpcc_stock WHERE w_id = %d AND i_id = %d FOR UPDATE", supply, item)
  left = tonumber(left) - quantity
  tell("UPDATE tpcc_stock SET quantity = %d, ytd = ytd + %d, orders = orders + 1, remotes = remotes + %d"
    .. " WHERE w_id = %d AND i_id = %d", left < 10 and left + 91 or left, quantity, supply == w and 0 or 1, supply, item)
  tell("INSERT INTO tpcc_order_line VALUES (%d, %d, %d, %d, %d, %d, NULL, %d, %.2f, '%s')", w, d, o, number, item, supply,
    quantity, quantity * tonumber(price), info)
  return true
end

-- The items in ascending order, so that two orders wait for each other rather than deadlock.
local function basket()
  local chosen = {}
  for number = 1, some(5, 15) do
    chosen[number] = uneven(8191, ITEM_RUN, 1, items)
  end
  table.sort(chosen)
  return chosen
end

local function new_order(w, d)
  local chosen = basket()
  if some(1, 100) == 1 then
    chosen[#chosen] = items + 1 -- one order in a hundred names an item that there is not, and is taken back
  end
  local buyer = uneven(1023, CUSTOMER_RUN, 1, customers)
  tell("BEGIN")
  ask("SELECT tax FROM tpcc_warehouse WHERE id = %d", w)
  ask("SELECT discount, last, credit FROM tpcc_customer WHERE w_id = %d AND d_id = %d AND id = %d", w, d, buyer)
  local o = tonumber((ask("SELECT next_o_id, tax FROM tpcc_district WHERE w_id = %d AND id = %d FOR UPDATE", w, d)))
  tell("UPDATE tpcc_district SET next_o_id = %d WHERE w_id = %d AND id = %d", o + 1, w, d)
  tell("INSERT INTO tpcc_orders VALUES (%d, %d, %d, %d, NOW(), NULL, %d)", w, d, o, buyer, #chosen)
  tell("INSERT INTO tpcc_new_order VALUES (%d, %d, %d)", w, d, o)
  for number, item in ipairs(chosen) do
    local supply = some(1, 100) == 1 and other_warehouse(w) or w
    if not order_line(w, d, o, number, item, supply) then
      tell("ROLLBACK")
      return
    end
  end
  tell("COMMIT")
end

local function payment(w, d)
  local amount = some(100, 500000) / 100
  local c_w, c_d = w, d
  if some(1, 100) > 85 then
    c_w, c_d = other_warehouse(w), some(1, tables.DISTRICTS)
  end
  tell("BEGIN")
  tell("UPDATE tpcc_warehouse SET ytd = ytd + %.2f WHERE id = %d", amount, w)
  tell("UPDATE tpcc_district SET ytd = ytd + %.2f WHERE w_id = %d AND id = %d", amount, w, d)
  local payer = customer(c_w, c_d)
  local credit = ask("SELECT credit FROM tpcc_customer WHERE w_id = %d AND d_id = %d AND id = %d FOR UPDATE",
    c_w, c_d, payer)
  local noted = ""
  if credit == "BC" then
    noted = string.format(", data = LEFT(CONCAT('%d %d %d %d %d %.2f|', data), 500)", payer, c_d, c_w, d, w, amount)
  end
  tell("UPDATE tpcc_customer SET balance = balance - %.2f, ytd_payment = ytd_payment + %.2f, payments = payments + 1%s"
    .. " WHERE w_id = %d AND d_id = %d AND id = %d", amount, amount, noted, c_w, c_d, payer)
  tell("INSERT INTO tpcc_history (c_w_id, c_d_id, c_id, w_id, d_id, at, amount, data)"
    .. " VALUES (%d, %d, %d, %d, %d, NOW(), %.2f, 'w%d d%d')", c_w, c_d, payer, w, d, amount, w, d)
  tell("COMMIT")
end

local function order_status(w, d)
  tell("BEGIN")
  local buyer = customer(w, d)
  ask("SELECT balance, first, last FROM tpcc_customer WHERE w_id = %d AND d_id = %d AND id = %d", w, d, buyer)
  local o = ask("SELECT id, carrier, at FROM tpcc_orders WHERE w_id = %d AND d_id = %d AND c_id = %d"
    .. " ORDER BY id DESC LIMIT 1", w, d, buyer)
  if o ~= nil then
    tell("SELECT i_id, supply_w_id, quantity, amount, delivered FROM tpcc_order_line"
      .. " WHERE w_id = %d AND d_id = %d AND o_id = %d", w, d, tonumber(o))
  end
  tell("COMMIT")
end

local function deliver(w, d, carrier)
  local found = ask("SELECT o_id FROM tpcc_new_order WHERE w_id = %d AND d_id = %d ORDER BY o_id LIMIT 1 FOR UPDATE", w, d)
  if found == nil then
    return
  end
  local o = tonumber(found)
  local where = string.format("WHERE w_id = %d AND d_id = %d AND", w, d)
  tell("DELETE FROM tpcc_new_order %s o_id = %d", where, o)
  local buyer = tonumber((ask("SELECT c_id FROM tpcc_orders %s id = %d", where, o)))
  tell("UPDATE tpcc_orders SET carrier = %d %s id = %d", carrier, where, o)
  tell("UPDATE tpcc_order_line SET delivered = NOW() %s o_id = %d", where, o)
  local total = tonumber((ask("SELECT SUM(amount) FROM tpcc_order_line %s o_id = %d", where, o)))
  tell("UPDATE tpcc_customer SET balance = balance + %.2f, deliveries = deliveries + 1 %s id = %d", total, where, buyer)
end

local function delivery(w)
  local carrier = some(1, 10)
  tell("BEGIN")
  for d = 1, tables.DISTRICTS do
    deliver(w, d, carrier)
  end
  tell("COMMIT")
end

local function stock_level(w, d)
  tell("BEGIN")
  local o = tonumber((ask("SELECT next_o_id FROM tpcc_district WHERE w_id = %d AND id = %d", w, d)))
  tell("SELECT COUNT(DISTINCT stock.i_id) FROM tpcc_order_line AS line JOIN tpcc_stock AS stock"
    .. " ON stock.w_id = %d AND stock.i_id = line.i_id AND stock.quantity < %d"
    .. " WHERE line.w_id = %d AND line.d_id = %d AND line.o_id BETWEEN %d AND %d", w, some(10, 20), w, d, o - 20, o - 1)
  tell("COMMIT")
end

function event()
  local w, d = some(1, sysbench.opt.tables), some(1, tables.DISTRICTS)
  local drawn = some(1, 100)
  if drawn <= 45 then
    new_order(w, d)
  elseif drawn <= 88 then
    payment(w, d)
  elseif drawn <= 92 then
    order_status(w, d)
  elseif drawn <= 96 then
    delivery(w)
  else
    stock_level(w, d)
  end
end
