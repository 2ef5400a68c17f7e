"""What M does where the flush law is not what decides: a device that gives less, an age that stays."""
