"""The golden net: everything that a user sees of small runs, recorded and compared. See CONTRIBUTING.md."""
