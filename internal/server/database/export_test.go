package database

import (
	"context"
	"strconv"
	"time"
)

// OpenImpatient opens a database that waits only that long for other processes.
func OpenImpatient(ctx context.Context, path string, wait time.Duration) (*DB, error) {
	return open(ctx, path, wait)
}

// Bound bounds the file as a full disk does.
func Bound(ctx context.Context, d *DB, pages int) error {
	_, err := d.write.ExecContext(ctx, "PRAGMA max_page_count = "+strconv.Itoa(pages))
	return err
}
