package manager

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
