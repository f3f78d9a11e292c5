package manager

import "context"

// RunEnded has a cluster hear that a run of an operation has ended, whenever a test wants it to.
func (m *Manager) RunEnded(name string, epoch uint64, r Run) {
	m.tell(name, func(c *cluster) { c.runEnded(epoch, r) })
}

// Launched has a cluster hear how the beginning of a run of an operation ended.
func (m *Manager) Launched(name string, epoch uint64, r Run, err error) {
	m.tell(name, func(c *cluster) { c.launched(epoch, r, err) })
}

func (m *Manager) tell(name string, what func(*cluster)) {
	if c, err := m.get(name); err == nil {
		c.post(func() { what(c) })
	}
}

// CreateScanned is Create with a scan that sees the name when it is taken, and nothing is written down yet.
func (m *Manager) CreateScanned(ctx context.Context, name string, meanwhile func()) error {
	if _, err := m.free(ctx, name); err != nil {
		return err
	}
	return m.scanned(ctx, Record{Name: name}, meanwhile, (*cluster).create)
}

// ImportScanned is Import with such a scan.
func (m *Manager) ImportScanned(ctx context.Context, name string, meanwhile func()) error {
	f, err := m.runner.Find(ctx, name)
	if err != nil {
		return err
	}
	return m.scanned(ctx, Record{Name: name, LastKnownRun: f.Run}, meanwhile, (*cluster).imported)
}

func (m *Manager) scanned(
	ctx context.Context, r Record, meanwhile func(), first func(*cluster, context.Context, Request) (View, error),
) error {
	c, err := m.add(r)
	if err != nil {
		return err
	}
	meanwhile()
	if err := m.Scan(ctx); err != nil {
		return err
	}
	_, err = first(c, ctx, Request{})
	return err
}
