package manager

import "context"

// Forget deletes the record and leaves the machines as they are.
func (m *Manager) Forget(ctx context.Context, name string, q Request) (View, error) {
	c, err := m.get(name)
	if err != nil {
		return View{}, err
	}
	return c.act(ctx, func(ctx context.Context) error {
		if err := c.fits(Delete); err != nil {
			return err
		}
		if err := q.ready(c.rec); err != nil {
			return err
		}
		return c.leaveBehind(ctx)
	})
}

// leaveBehind deletes the record. What the server kept is removed, unless the cluster's own deploy.yaml names it.
func (c *cluster) leaveBehind(ctx context.Context) error {
	f, err := c.m.runner.Find(ctx, c.name)
	if err == nil {
		err = c.remove(ctx, c.eventOf(Delete))
	}
	if err == nil && !f.Installed {
		c.removed()
	}
	return err
}

// removed has what was kept for a cluster removed that is no more.
func (c *cluster) removed() {
	if err := c.m.runner.Removed(c.name); err != nil {
		c.m.report(c.name, err)
	}
}

// halt ends a run: after its running steps, and if that takes too long at once.
func (m *Manager) halt(ctx context.Context, run Run) {
	m.all.Go(func() {
		if err := run.Stop(); err != nil {
			m.report(run.ID(), err)
		}
		waiting, enough := context.WithCancel(ctx)
		defer enough()
		go func() {
			select {
			case <-run.Done():
				enough()
			case <-waiting.Done():
			}
		}()
		for m.clock.Sleep(waiting, patience) == nil {
			if err := run.Abort(); err != nil {
				m.report(run.ID(), err)
			}
		}
	})
}
