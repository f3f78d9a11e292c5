package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
)

// Check is one of the benchmark on one node.
type Check struct {
	Node   string `json:"node"`   // n1
	Target string `json:"target"` // master
	ID     string `json:"id"`     // 1.1.12
	Text   string `json:"text"`
	Says   string `json:"says"`            // PASS
	Value  string `json:"value,omitempty"` // what kube-bench found, of one that fails
}

// The words of kube-bench.
const (
	pass = "PASS"
	fail = "FAIL"
	warn = "WARN"
	info = "INFO"
)

// valueMost is how many bytes of what a check has found are kept.
const valueMost = 300

// parse reads what kube-bench prints with --json.
func parse(node string, data []byte) ([]Check, error) {
	var all struct {
		Controls []struct {
			NodeType string `json:"node_type"`
			Tests    []struct {
				Results []struct {
					ID     string `json:"test_number"`
					Text   string `json:"test_desc"`
					Status string `json:"status"`
					Value  string `json:"actual_value"`
				} `json:"results"`
			} `json:"tests"`
		}
	}
	if err := json.Unmarshal(data, &all); err != nil {
		return nil, fmt.Errorf("what kube-bench printed on %s: %w", node, err)
	}
	var out []Check
	for _, c := range all.Controls {
		for _, g := range c.Tests {
			for _, r := range g.Results {
				c := Check{Node: node, Target: c.NodeType, ID: r.ID, Text: r.Text, Says: r.Status}
				if r.Status == fail {
					c.Value = cut(strings.TrimSpace(r.Value))
				}
				out = append(out, c)
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("kube-bench checked nothing on %s", node)
	}
	return out, nil
}

// cut is the beginning of what was found, which may be all roles of a cluster.
func cut(text string) string {
	if len(text) <= valueMost {
		return text
	}
	return strings.ToValidUTF8(text[:valueMost], "") + "…"
}

// refused are the checks that fail and are not accepted for the driver.
func refused(r *Record) []Check {
	return slices.DeleteFunc(slices.Clone(r.Checks), func(c Check) bool {
		_, ok := acceptedFor(r.Driver, c.ID)
		return c.Says != fail || ok
	})
}

// count is how many checks of a target came to what on a node.
type count struct {
	node, target string
	says         map[string]int
}

// counts are those of a record, in the order of its checks.
func counts(r *Record) []count {
	var out []count
	for _, c := range r.Checks {
		i := slices.IndexFunc(out, func(n count) bool { return n.node == c.Node && n.target == c.Target })
		if i < 0 {
			i = len(out)
			out = append(out, count{c.Node, c.Target, map[string]int{}})
		}
		out[i].says[c.Says]++
	}
	return out
}

// report prints totals for each node and target, then what failed, then what a person has to judge.
func report(w io.Writer, r *Record) error {
	fmt.Fprintf(w, "Kubernetes %s by the driver %s, %s\n\n", r.Kubernetes, r.Driver, r.Benchmark)
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tTARGET\tPASS\tFAIL\tWARN\tINFO")
	for _, c := range counts(r) {
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\n", c.node, c.target, c.says[pass], c.says[fail], c.says[warn],
			c.says[info])
	}
	fmt.Fprintln(t)
	for _, says := range []string{fail, warn} {
		for _, c := range r.Checks {
			if c.Says != says {
				continue
			}
			note := ""
			if says == fail {
				note = "NOT ACCEPTED: " + c.Value
				if a, ok := acceptedFor(r.Driver, c.ID); ok {
					note = "accepted: " + plain(a.why)
				}
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", says, c.Node, c.ID, c.Text, note)
		}
	}
	return t.Flush()
}
