"""Pure rules: claims to plans, ledger states, devices to pools to slices, names. No I/O, no clock."""
