package config

import "github.com/eggo-k8s/eggo/internal/run/event"

// WithWarnings returns the problems of a deploy.yaml and, as warnings, what deploy would refuse of it and what its
// author probably does not want: neither makes the file invalid.
func WithWarnings(c *Cluster, problems Problems) Problems {
	later := Unsupported(c)
	for i := range later {
		later[i].Severity = event.Warning
	}
	return append(append(problems, later...), advice(c)...).Sorted()
}

// Unsupported lists what a valid deploy.yaml asks for and deploy cannot do yet, each an error with its line and key, in
// the order of the lines. Nothing of a deploy.yaml is ignored in silence: what has no effect stands here.
func Unsupported(c *Cluster) Problems {
	u := &unsupported{c: c}
	u.settings()
	u.packages()
	return u.out.Sorted()
}

type unsupported struct {
	c   *Cluster
	out Problems
}

// add reports the key where it stands, or where the nearest key above it does.
func (u *unsupported) add(key, code string, kv ...string) {
	at := nearest(u.c.given, key)
	u.out = append(u.out, Problem{
		File: u.c.file, Line: at.line, Col: at.col, Key: key, Code: code, Severity: event.Error,
		Args: event.M("", append(kv, "key", key)...).Args,
	})
}

func (u *unsupported) settings() {
	c := u.c
	if c.EtcdExternal {
		u.add("etcd-external", "config.etcd-external")
	}
}

func (u *unsupported) packages() {
	c := u.c
	if c.Source.Type == "" {
		u.add(sourceType, "config.online")
	}
}
