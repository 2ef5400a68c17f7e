require("oltp_update_non_index")
require("keys")
require("report")
