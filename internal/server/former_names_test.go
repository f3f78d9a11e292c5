package server

// restoreBackupInput is the name of the input in tests that were written before the page made one.
type restoreBackupInput = RestoreBackupInput
