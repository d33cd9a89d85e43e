"""What people see. An edge: parse, call one verb, render."""
