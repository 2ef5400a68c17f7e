-- Tables of the TPC-C-like load and their first rows, smaller or larger than the standard's by one scale.

local tables = {}

tables.DISTRICTS = 10

local SYLLABLES = {"BAR", "OUGHT", "ABLE", "PRI", "PRES", "ESE", "ANTI", "CALLY", "ATION", "EING"}

local DEFINITIONS = {
  tpcc_warehouse = [[id INT NOT NULL PRIMARY KEY, name CHAR(10) NOT NULL, tax DECIMAL(4,4) NOT NULL,
    ytd DECIMAL(14,2) NOT NULL]],
  tpcc_district = [[w_id INT NOT NULL, id INT NOT NULL, tax DECIMAL(4,4) NOT NULL, ytd DECIMAL(14,2) NOT NULL,
    next_o_id INT NOT NULL, PRIMARY KEY (w_id, id)]],
  tpcc_customer = [[w_id INT NOT NULL, d_id INT NOT NULL, id INT NOT NULL, first VARCHAR(16) NOT NULL,
    last VARCHAR(16) NOT NULL, credit CHAR(2) NOT NULL, discount DECIMAL(4,4) NOT NULL,
    balance DECIMAL(14,2) NOT NULL, ytd_payment DECIMAL(14,2) NOT NULL, payments INT NOT NULL,
    deliveries INT NOT NULL, data VARCHAR(500) NOT NULL,
    PRIMARY KEY (w_id, d_id, id), KEY by_name (w_id, d_id, last, first)]],
  tpcc_history = [[id BIGINT NOT NULL AUTO_INCREMENT PRIMARY KEY, c_w_id INT NOT NULL, c_d_id INT NOT NULL,
    c_id INT NOT NULL, w_id INT NOT NULL, d_id INT NOT NULL, at DATETIME NOT NULL, amount DECIMAL(6,2) NOT NULL,
    data VARCHAR(24) NOT NULL]],
  tpcc_orders = [[w_id INT NOT NULL, d_id INT NOT NULL, id INT NOT NULL, c_id INT NOT NULL, at DATETIME NOT NULL,
    carrier INT NULL, line_count INT NOT NULL, PRIMARY KEY (w_id, d_id, id), KEY by_customer (w_id, d_id, c_id, id)]],
  tpcc_new_order = "w_id INT NOT NULL, d_id INT NOT NULL, o_id INT NOT NULL, PRIMARY KEY (w_id, d_id, o_id)",
  tpcc_order_line = [[w_id INT NOT NULL, d_id INT NOT NULL, o_id INT NOT NULL, number INT NOT NULL, i_id INT NOT NULL,
    supply_w_id INT NOT NULL, delivered DATETIME NULL, quantity INT NOT NULL, amount DECIMAL(6,2) NOT NULL,
    info CHAR(24) NOT NULL, PRIMARY KEY (w_id, d_id, o_id, number)]],
  tpcc_item = "id INT NOT NULL PRIMARY KEY, name VARCHAR(24) NOT NULL, price DECIMAL(5,2) NOT NULL, data VARCHAR(50) NOT NULL",
  tpcc_stock = [[w_id INT NOT NULL, i_id INT NOT NULL, quantity INT NOT NULL, ytd INT NOT NULL, orders INT NOT NULL,
    remotes INT NOT NULL, info CHAR(24) NOT NULL, data VARCHAR(50) NOT NULL, PRIMARY KEY (w_id, i_id)]],
}

local function some(least, most)
  return sysbench.rand.uniform(least, most)
end

local function text(length)
  return sysbench.rand.string(string.rep("@", length))
end

-- Returns items, and customers (as many first orders too) per district. The standard's 500,000 rows a warehouse have
-- 100,000 items and 3,000 customers.
function tables.sizes(rows)
  local scale = rows / 500000
  return math.max(100, math.floor(100000 * scale)), math.max(30, math.floor(3000 * scale))
end

-- Returns the standard's last name of a number from 0 to 999.
function tables.last_name(number)
  return SYLLABLES[math.floor(number / 100) % 10 + 1] .. SYLLABLES[math.floor(number / 10) % 10 + 1]
    .. SYLLABLES[number % 10 + 1]
end

-- Creates what is missing; every preparing thread may call it.
function tables.create(connection)
  for name, columns in pairs(DEFINITIONS) do
    connection:query(string.format("CREATE TABLE IF NOT EXISTS %s (%s) ENGINE = InnoDB", name, columns))
  end
end

function tables.drop(connection)
  for name in pairs(DEFINITIONS) do
    connection:query("DROP TABLE IF EXISTS " .. name)
  end
end

local function insert(connection, into, count, row)
  connection:bulk_insert_init("INSERT INTO " .. into .. " VALUES")
  for number = 1, count do
    for _, one in ipairs({row(number)}) do
      connection:bulk_insert_next(one)
    end
  end
  connection:bulk_insert_done()
end

function tables.fill_items(connection, items)
  insert(connection, "tpcc_item", items, function(id)
    return string.format("(%d, '%s', %.2f, '%s')", id, text(some(14, 24)), some(100, 10000) / 100, text(some(26, 50)))
  end)
end

-- A permutation, so that the first orders are each of another customer.
local function shuffled(count)
  local order = {}
  for at = 1, count do
    order[at] = at
  end
  for at = count, 2, -1 do
    local other = some(1, at)
    order[at], order[other] = order[other], order[at]
  end
  return order
end

local function fill_orders(connection, w, d, items, customers)
  local of, counts = shuffled(customers), {}
  local undelivered = math.floor(customers * 0.7) -- orders after it wait for their delivery
  insert(connection, "tpcc_orders", customers, function(id)
    counts[id] = some(5, 15)
    local carrier = id <= undelivered and some(1, 10) or "NULL"
    return string.format("(%d, %d, %d, %d, NOW(), %s, %d)", w, d, id, of[id], carrier, counts[id])
  end)
  insert(connection, "tpcc_new_order", customers - undelivered, function(number)
    return string.format("(%d, %d, %d)", w, d, undelivered + number)
  end)
  insert(connection, "tpcc_order_line", customers, function(id)
    local rows, open = {}, id > undelivered
    for number = 1, counts[id] do
      rows[number] = string.format("(%d, %d, %d, %d, %d, %d, %s, 5, %.2f, '%s')", w, d, id, number, some(1, items), w,
        open and "NULL" or "NOW()", open and some(1, 999999) / 100 or 0, text(24))
    end
    return unpack(rows)
  end)
end

local function fill_district(connection, w, d, items, customers)
  insert(connection, "tpcc_customer", customers, function(id)
    local name = id <= 1000 and id - 1 or some(0, 999)
    return string.format("(%d, %d, %d, '%s', '%s', '%s', %.4f, -10.00, 10.00, 1, 0, '%s')", w, d, id, text(some(8, 16)),
      tables.last_name(name), some(1, 10) == 1 and "BC" or "GC", some(0, 5000) / 10000, text(some(300, 500)))
  end)
  insert(connection, "tpcc_history (c_w_id, c_d_id, c_id, w_id, d_id, at, amount, data)", customers, function(id)
    return string.format("(%d, %d, %d, %d, %d, NOW(), 10.00, '%s')", w, d, id, w, d, text(some(12, 24)))
  end)
  fill_orders(connection, w, d, items, customers)
end

function tables.fill_warehouse(connection, w, items, customers)
  connection:query(string.format("INSERT INTO tpcc_warehouse VALUES (%d, '%s', %.4f, 300000.00)", w, text(8),
    some(0, 2000) / 10000))
  insert(connection, "tpcc_stock", items, function(id)
    return string.format("(%d, %d, %d, 0, 0, 0, '%s', '%s')", w, id, some(10, 100), text(24), text(some(26, 50)))
  end)
  for d = 1, tables.DISTRICTS do
    connection:query(string.format("INSERT INTO tpcc_district VALUES (%d, %d, %.4f, 30000.00, %d)", w, d,
      some(0, 2000) / 10000, customers + 1))
    fill_district(connection, w, d, items, customers)
  end
end

return tables
