package report

import (
	"maps"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/run/state"
)

// Cause is one thing that is wrong, with all that it was found on.
type Cause struct {
	Key      string // the same for findings of the same cause
	Severity event.Severity
	Findings []event.Finding // in the order in which they were found; at least one
}

// Hosts are the names of the nodes; none when it is of no node.
func (c Cause) Hosts() []string {
	var out []string
	for _, f := range c.Findings {
		if f.Host != "" && !slices.Contains(out, f.Host) {
			out = append(out, f.Host)
		}
	}
	return out
}

// measured are the arguments of a fault that differ from node to node although what is wrong is the same.
func measured(code string) []string {
	out := []string{"node", "addr", "ip", "free", "skew", "is", "have", "pid", "cause", "fingerprint", "names",
		"hostname", "address"}
	if strings.HasPrefix(code, "ssh.hostkey") { // each host has its own
		out = append(out, "key", "known", "line", "type")
	}
	return out
}

// Causes puts findings of the same cause together: errors first, then what is on most nodes.
func Causes(findings []event.Finding) []Cause {
	var out []Cause
	at, hosts := map[string]int{}, map[string]bool{}
	for _, f := range findings {
		hosts[f.Host] = true
	}
	for _, f := range findings {
		key := string(f.Severity) + " " + f.Fault.Code
		for _, k := range slices.Sorted(maps.Keys(f.Fault.Args)) {
			if v := f.Fault.Args[k]; !slices.Contains(measured(f.Fault.Code), k) && !hosts[v] {
				// which other node it is may differ as well
				key += "\x00" + k + "=" + v
			}
		}
		i, is := at[key]
		if !is {
			i = len(out)
			at[key] = i
			out = append(out, Cause{Key: key, Severity: f.Severity})
		}
		out[i].Findings = append(out[i].Findings, f)
	}
	slices.SortStableFunc(out, func(a, b Cause) int {
		if a.Severity != b.Severity {
			return strings.Compare(string(a.Severity), string(b.Severity))
		}
		return len(b.Findings) - len(a.Findings)
	})
	return out
}

// Found are the causes among what a check of a run found.
func Found(reasons []state.Reason) []Cause {
	var list []event.Finding
	for _, r := range reasons {
		if r.Found {
			list = append(list, event.Finding{Host: r.Host, Severity: event.Error, Fault: *r.Fault.On(r.Host)})
		}
	}
	return Causes(list)
}
