"""The parts of `./dev`: the commands, and what they share. Only the standard library is imported here."""
