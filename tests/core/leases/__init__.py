"""Leases: held, kept, lost, guarded, waited for, forked."""
