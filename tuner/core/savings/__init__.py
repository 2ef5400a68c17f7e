"""What did it bring? The ledger of pages saved, against the settings found, never without its bounds."""
