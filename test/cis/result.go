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
	Node, Target   string // n1, master
	ID, Text, Says string // 1.1.12, …, PASS
	Value          string // what kube-bench found
}

// The words of kube-bench.
const (
	fail = "FAIL"
	warn = "WARN"
)

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
				out = append(out, Check{Node: node, Target: c.NodeType, ID: r.ID, Text: r.Text, Says: r.Status,
					Value: strings.TrimSpace(r.Value)})
			}
		}
	}
	if len(out) == 0 {
		return nil, fmt.Errorf("kube-bench checked nothing on %s", node)
	}
	return out, nil
}

// accepted are the checks that may fail, with the reason; docs/security.md has the same table.
func accepted() map[string]string {
	return map[string]string{
		"5.1.1": "only system:masters has cluster-admin; the check's script needs bash as /bin/sh",
		"5.1.3": "roles of Kubernetes itself have wildcards; the check's script needs jq",
		"5.1.5": "Kubernetes creates the default accounts, and no role is bound to them; the check's script needs jq",
		"5.1.6": "flannel and CoreDNS call the API server with their tokens; the check's script needs jq",
	}
}

// refused are the checks that fail and are not accepted.
func refused(all []Check) []Check {
	return slices.DeleteFunc(slices.Clone(all), func(c Check) bool {
		_, ok := accepted()[c.ID]
		return c.Says != fail || ok
	})
}

// report prints totals for each node and target, then what failed, then what a person has to judge.
func report(w io.Writer, all []Check) error {
	t := tabwriter.NewWriter(w, 0, 8, 2, ' ', 0)
	fmt.Fprintln(t, "NODE\tTARGET\tPASS\tFAIL\tWARN\tINFO")
	type place struct{ node, target string }
	var order []place
	counts := map[place]map[string]int{}
	for _, c := range all {
		p := place{c.Node, c.Target}
		if counts[p] == nil {
			counts[p] = map[string]int{}
			order = append(order, p)
		}
		counts[p][c.Says]++
	}
	for _, p := range order {
		n := counts[p]
		fmt.Fprintf(t, "%s\t%s\t%d\t%d\t%d\t%d\n", p.node, p.target, n["PASS"], n[fail], n[warn], n["INFO"])
	}
	fmt.Fprintln(t)
	for _, says := range []string{fail, warn} {
		for _, c := range all {
			if c.Says != says {
				continue
			}
			note := ""
			if says == fail {
				note = "NOT ACCEPTED: " + c.Value
				if why, ok := accepted()[c.ID]; ok {
					note = "accepted: " + why
				}
			}
			fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", says, c.Node, c.ID, c.Text, note)
		}
	}
	return t.Flush()
}
