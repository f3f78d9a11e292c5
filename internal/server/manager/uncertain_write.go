package manager

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"

	"github.com/eggo-k8s/eggo/internal/server/manager/state"
)

// ErrWriteUnconfirmed: what was asked for failed, but may be found as begun later. What it needs is to stay.
var ErrWriteUnconfirmed = errors.New("it is not known whether the record was written")

// save writes the record of the cluster, as it is to be (Record{}: none). A database may report as failed what it has
// committed, and refuses everything from then on that is written over the revision before. So what it says is compared
// with what it has: if that is exactly what was to be written, it is written. While it cannot be read, the write is in
// doubt, and the next one begins with finding out.
func (c *cluster) save(as Record, write func() error) error {
	if was := c.m.doubt(c.name); was != nil {
		has, err := c.m.stored(c.life, c.name)
		switch {
		case err != nil:
			return err
		case has.Revision != c.rec.Revision && equal(has, as):
			c.m.doubts(c.name, nil)
			return nil
		case has.Revision != c.rec.Revision && equal(has, *was):
			return c.again(has)
		}
		c.m.doubts(c.name, nil) // it was not done
	}
	err := write()
	if err == nil || errors.Is(err, ErrRevision) {
		return err
	}
	has, unread := c.m.stored(c.life, c.name)
	switch {
	case unread != nil:
		c.m.doubts(c.name, &as)
	case has.Revision != c.rec.Revision && equal(has, as):
		return nil
	}
	return err
}

// again loads the cluster as at the start of the server, from a record that was written and nobody heard of. What was
// to be written instead is refused. No run is being begun meanwhile: all that is written then is a cancel, and one is
// as the other.
func (c *cluster) again(has Record) error {
	c.m.doubts(c.name, nil)
	if has.Revision == 0 {
		c.deleted()
		if f, err := c.m.runner.Find(c.life, c.name); err == nil && !f.Installed {
			c.removed()
		}
		return unknown(c.name)
	}
	c.part()
	c.rec, c.run, c.newest, c.was = has, nil, "", Health{State: c.state, At: c.since}
	loaded := false
	c.keep(func() bool { return !loaded }, func(ctx context.Context) error {
		c.state, c.since, c.failed = state.Init, c.m.clock.Now(), 0
		c.show()
		f, err := c.m.runner.Find(ctx, c.name)
		if err == nil {
			err = c.load(ctx, f)
		}
		loaded = err == nil
		return err
	})
	return ErrRevision
}

// untold takes a cluster back whose first record could not be written. What was kept for it is needed if it is there.
func (c *cluster) untold() {
	c.m.drop(c)
	if c.m.doubt(c.name) == nil {
		c.removed()
	}
}

// stored is the record that the store has of a name, Record{} if it has none.
func (m *Manager) stored(ctx context.Context, name string) (Record, error) {
	all, err := m.store.Load(ctx)
	for _, r := range all {
		if r.Name == name {
			return r, err
		}
	}
	return Record{}, err
}

// equal compares what of records is written down.
func equal(a, b Record) bool {
	one, err := json.Marshal(a)
	two, err2 := json.Marshal(b)
	return errors.Join(err, err2) == nil && bytes.Equal(one, two)
}

// doubt is the record that was perhaps written for a name, nil if there is no doubt.
func (m *Manager) doubt(name string) *Record {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.doubtful[name]
}

func (m *Manager) doubts(name string, r *Record) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if delete(m.doubtful, name); r != nil {
		m.doubtful[name] = r
	}
}
