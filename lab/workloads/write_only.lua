require("oltp_write_only")
require("keys")
require("report")
