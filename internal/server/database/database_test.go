package database_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"testing/fstest"
	"time"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server/database"
)

func things() fstest.MapFS {
	return fstest.MapFS{"0001_things.sql": {Data: []byte(
		`CREATE TABLE things (name TEXT PRIMARY KEY, size INTEGER NOT NULL) STRICT;
		 CREATE TABLE parts (thing TEXT NOT NULL REFERENCES things (name), name TEXT NOT NULL) STRICT;`)}}
}

func opened(t *testing.T, path string) *database.DB {
	t.Helper()
	d, err := database.Open(t.Context(), path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func migrated(t *testing.T) *database.DB {
	t.Helper()
	d := opened(t, filepath.Join(t.TempDir(), "server", "eggo.db"))
	if err := d.Migrate(t.Context(), "things", things()); err != nil {
		t.Fatal(err)
	}
	return d
}

func exec(ctx context.Context, d *database.DB, query string, args ...any) error {
	return d.Update(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, query, args...)
		return err
	})
}

func count(t *testing.T, d *database.DB, table string) (n int) {
	t.Helper()
	if err := d.View(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRow("SELECT count(*) FROM " + table).Scan(&n)
	}); err != nil {
		t.Fatal(err)
	}
	return n
}

func wantCode(t *testing.T, err error, code string) {
	t.Helper()
	if f := (*event.Fault)(nil); !errors.As(err, &f) || f.Code != code {
		t.Errorf("%v; want the fault %s", err, code)
	}
}

func TestFilesAreForTheOwnerAlone(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a 100%? #dir")
	d := opened(t, filepath.Join(dir, "eggo.db"))
	if err := d.Migrate(t.Context(), "things", things()); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]os.FileMode{"": 0o700 | os.ModeDir, "eggo.db": 0o600, "eggo.db-wal": 0o600,
		"eggo.db-shm": 0o600} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil || info.Mode() != want {
			t.Errorf("%q: %v, %v; want mode %v", name, info, err, want)
		}
	}
}

func TestWhatWasCommittedIsThereAgain(t *testing.T) {
	path := filepath.Join(t.TempDir(), "eggo.db")
	d := opened(t, path)
	for range 2 { // the second time there is nothing to do
		if err := d.Migrate(t.Context(), "things", things()); err != nil {
			t.Fatal(err)
		}
	}
	if err := exec(t.Context(), d, "INSERT INTO things VALUES ('a', 1)"); err != nil {
		t.Fatal(err)
	}
	no := errors.New("no")
	if err := d.Update(t.Context(), func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO things VALUES ('b', 2)")
		return errors.Join(err, no)
	}); !errors.Is(err, no) {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if n := count(t, opened(t, path), "things"); n != 1 {
		t.Errorf("%d rows, want that of the committed transaction", n)
	}
}

func TestConstraintsAreTold(t *testing.T) {
	d := migrated(t)
	if err := exec(t.Context(), d, "INSERT INTO things VALUES ('a', 1)"); err != nil {
		t.Fatal(err)
	}
	taken := exec(t.Context(), d, "INSERT INTO things VALUES ('a', 2)")
	missing := exec(t.Context(), d, "INSERT INTO parts VALUES ('x', 'y')")
	strict := exec(t.Context(), d, "INSERT INTO things VALUES ('b', 'big')")
	if !database.Taken(taken) || database.Missing(taken) {
		t.Error(taken)
	}
	if !database.Missing(missing) || database.Taken(missing) {
		t.Error(missing)
	}
	if strict == nil {
		t.Error("a text is no number")
	}
}

func TestAViewSeesOneState(t *testing.T) {
	d := migrated(t)
	if err := d.View(t.Context(), func(tx *sql.Tx) error {
		var before, after int
		err := tx.QueryRow("SELECT count(*) FROM things").Scan(&before)
		if err == nil {
			err = exec(t.Context(), d, "INSERT INTO things VALUES ('a', 1)")
		}
		if err == nil {
			err = tx.QueryRow("SELECT count(*) FROM things").Scan(&after)
		}
		if before != after {
			t.Errorf("%d rows became %d", before, after)
		}
		if _, err := tx.Exec("INSERT INTO things VALUES ('c', 1)"); err == nil {
			t.Error("a view wrote")
		}
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func TestManyWritersLoseNothing(t *testing.T) {
	d := migrated(t)
	if err := exec(t.Context(), d, "INSERT INTO things VALUES ('a', 0)"); err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			if err := d.Update(t.Context(), func(tx *sql.Tx) error {
				var n int
				if err := tx.QueryRow("SELECT size FROM things").Scan(&n); err != nil {
					return err
				}
				_, err := tx.Exec("UPDATE things SET size = ?", n+1)
				return err
			}); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	var n int
	if err := d.View(t.Context(), func(tx *sql.Tx) error {
		return tx.QueryRow("SELECT size FROM things").Scan(&n)
	}); err != nil || n != 20 {
		t.Errorf("%d, %v; want 20", n, err)
	}
}

func TestACancelledTransactionKeepsNothing(t *testing.T) {
	d := migrated(t)
	ctx, cancel := context.WithCancel(t.Context())
	err := d.Update(ctx, func(tx *sql.Tx) error {
		_, err := tx.Exec("INSERT INTO things VALUES ('a', 1)")
		cancel()
		return err
	})
	if !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if n := count(t, d, "things"); n != 0 {
		t.Errorf("%d rows", n)
	}
}

func TestAPanicFreesTheConnection(t *testing.T) {
	d := migrated(t)
	func() {
		defer func() { _ = recover() }()
		_ = d.Update(t.Context(), func(*sql.Tx) error { panic("on purpose") })
	}()
	if err := exec(t.Context(), d, "INSERT INTO things VALUES ('a', 1)"); err != nil {
		t.Error(err)
	}
}

// What goes wrong with a database has a code, and leaves what was there.
func TestFaults(t *testing.T) {
	t.Run("no database", func(t *testing.T) {
		path := filepath.Join(t.TempDir(), "eggo.db")
		text := strings.Repeat("this is a text, and no database\n", 400)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		_, err := database.Open(t.Context(), path)
		wantCode(t, err, "database.damaged")
		if now, _ := os.ReadFile(path); string(now) != text {
			t.Error("the file was changed")
		}
	})
	t.Run("overwritten pages", func(t *testing.T) {
		d := migrated(t)
		for i := range 300 {
			if err := exec(t.Context(), d, "INSERT INTO things VALUES (?, 1)", strings.Repeat(fmt.Sprint(i, " "),
				100)); err != nil {
				t.Fatal(err)
			}
		}
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		f, err := os.OpenFile(d.Path(), os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := f.WriteAt([]byte(strings.Repeat("x", 40000)), 8192); err != nil {
			t.Fatal(err)
		}
		f.Close()
		_, err = database.Open(t.Context(), d.Path())
		wantCode(t, err, "database.damaged")
	})
	t.Run("a full disk", func(t *testing.T) {
		d := migrated(t)
		if err := database.Bound(t.Context(), d, 12); err != nil {
			t.Fatal(err)
		}
		var err error
		for i := 0; err == nil && i < 1000; i++ {
			err = exec(t.Context(), d, "INSERT INTO things VALUES (?, 1)", strings.Repeat(fmt.Sprint(i, " "), 500))
		}
		wantCode(t, err, "database.full")
		before := count(t, d, "things")
		if err := database.Bound(t.Context(), d, 1000); err != nil {
			t.Fatal(err)
		}
		if err := exec(t.Context(), d, "INSERT INTO things VALUES ('then', 1)"); err != nil ||
			count(t, d, "things") != before+1 {
			t.Error(err)
		}
	})
	t.Run("a disk that is full at the start", func(t *testing.T) {
		d := migrated(t)
		if err := d.Close(); err != nil {
			t.Fatal(err)
		}
		var before syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before); err != nil {
			t.Fatal(err)
		}
		small := syscall.Rlimit{Cur: 16 << 10, Max: before.Max} // there is no room for the file beside the database
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &small); err != nil {
			t.Fatal(err)
		}
		_, err := database.Open(t.Context(), d.Path())
		if bad := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before); bad != nil {
			t.Fatal(bad)
		}
		wantCode(t, err, "database.full")
	})
	t.Run("another process writes", func(t *testing.T) {
		d := migrated(t)
		other, err := database.OpenImpatient(t.Context(), d.Path(), time.Millisecond)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		if err := d.Update(t.Context(), func(*sql.Tx) error {
			wantCode(t, exec(t.Context(), other, "INSERT INTO things VALUES ('a', 1)"), "database.busy")
			return nil
		}); err != nil {
			t.Error(err)
		}
	})
	t.Run("a newer schema", func(t *testing.T) {
		d := migrated(t)
		newer := things()
		newer["0002_more.sql"] = &fstest.MapFile{Data: []byte("ALTER TABLE things ADD COLUMN more TEXT")}
		if err := d.Migrate(t.Context(), "things", newer); err != nil {
			t.Fatal(err)
		}
		wantCode(t, d.Migrate(t.Context(), "things", things()), "database.newer")
	})
	t.Run("a directory in its place", func(t *testing.T) {
		_, err := database.Open(t.Context(), t.TempDir())
		wantCode(t, err, "database.open")
	})
	t.Run("a statement that is wrong", func(t *testing.T) {
		wantCode(t, exec(t.Context(), migrated(t), "INSERT INTO nothing VALUES (1)"), "database.failed")
	})
}

// A migration that fails leaves the tables as they were, also those of the migrations before it.
func TestAFailedMigrationLeavesNothing(t *testing.T) {
	d := migrated(t)
	more := things()
	more["0002_good.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE good (a TEXT) STRICT")}
	more["0003_bad.sql"] = &fstest.MapFile{Data: []byte("CREATE TABLE things (a TEXT) STRICT")}
	if err := d.Migrate(t.Context(), "things", more); err == nil {
		t.Fatal("the third one cannot be applied")
	}
	if err := exec(t.Context(), d, "CREATE TABLE good (a TEXT) STRICT"); err != nil {
		t.Error(err)
	}
	for name, files := range map[string]fstest.MapFS{"a gap": {"0002_a.sql": {}}, "none": {}} {
		if err := d.Migrate(t.Context(), "others", files); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestACopyIsWhole(t *testing.T) {
	d := migrated(t)
	if err := exec(t.Context(), d, "INSERT INTO things VALUES ('a', 1)"); err != nil {
		t.Fatal(err)
	}
	to := filepath.Join(t.TempDir(), "copy.db")
	if err := d.Copy(t.Context(), to); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(to); err != nil || info.Mode() != 0o600 {
		t.Error(info, err)
	}
	if n := count(t, opened(t, to), "things"); n != 1 {
		t.Errorf("%d rows", n)
	}
	wantCode(t, d.Copy(t.Context(), to), "database.copy-exists")
	wantCode(t, d.Copy(t.Context(), filepath.Join(to, "x")), "database.copy")
}
