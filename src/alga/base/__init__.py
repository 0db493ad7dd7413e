"""The foundation of all other rooms: errors, files (atomic writes, bounded reads, locks), progress, signals."""
