package phasestest

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"github.com/eggo-k8s/eggo/internal/config"
)

// Use makes another deploy.yaml the cluster's. Machines that there were not before are bare.
func (l *Lab) Use(text []byte) error {
	c, problems := config.Load(text, "deploy.yaml")
	if problems.HasErrors() {
		return fmt.Errorf("deploy.yaml: %+v", problems)
	}
	for _, n := range c.Nodes {
		if slices.ContainsFunc(l.machines, func(o config.Node) bool { return o.IP == n.IP }) {
			continue
		}
		l.Nodes[n.Name] = &Node{name: n.Name, dir: filepath.Join(l.Dir, "nodes", n.Name), dial: l.dial}
		if err := l.Nodes[n.Name].install(n.IP.String()); err != nil {
			return err
		}
		l.machines = append(l.machines, n)
	}
	l.Cluster = c
	return nil
}

// End ends a machine's unit in the middle of what it does, with all connections to it.
func (l *Lab) End(name, unit string) error {
	if err := os.Remove(l.Nodes[name].State("active/" + unit)); err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, c := range l.ways[name+" "+unit] {
		c.Close()
	}
	delete(l.ways, name+" "+unit)
	return nil
}
