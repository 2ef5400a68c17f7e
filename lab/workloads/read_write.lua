require("oltp_read_write")
require("keys")
require("report")
