require("oltp_update_index")
require("keys")
require("report")
