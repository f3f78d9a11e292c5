package present

import (
	"cmp"
	"strconv"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Machines shows what the machines are that preflight has inspected.
func Machines(p *i18n.Printer, machines []phases.Machine) document.Document {
	s := document.Section{Head: columns(p, "node", "address", "roles", "system", "arch", "cpus", "memory", "disk",
		"clock", "runtime")}
	for _, m := range machines {
		all := strings.Join(m.Roles, ",")
		if !m.Reached {
			row := cells(m.Node, m.Address, all, p.T(unreached(m.Fault)), "", "", "", "", "", "")
			row[3].Emphasis = document.Bad
			s.Rows = append(s.Rows, row)
			continue
		}
		cpus := "?"
		if m.CPUs > 0 {
			cpus = strconv.Itoa(m.CPUs)
		}
		s.Rows = append(s.Rows, cells(m.Node, m.Address, all, m.OS, m.Arch, cpus, report.Size(m.MemoryBytes),
			report.Size(m.DiskBytes), time.Duration(m.SkewNS).Round(time.Millisecond*100).String(),
			cmp.Or(m.Runtime, "-")))
	}
	return document.Document{s}
}

// unreached is the word for a node that could not be inspected, by what has to be fixed.
func unreached(f *event.Fault) string {
	switch {
	case f == nil:
	case f.Code == "ssh.key-missing":
		return "status.no-key"
	case f.Class == event.ClassAuth:
		return "status.no-login"
	}
	return "status.unreached"
}

// Inventory shows what a cleanup would remove from nodes.
func Inventory(p *i18n.Printer, list ...operation.NodeInventory) document.Document {
	var out document.Document
	for _, inv := range list {
		s := document.Section{Depth: 1, Title: node(inv.Node)}
		if inv.Err != nil {
			text := p.T("cli.cleanup-not-seen", "cause", event.AsFault(inv.Err).Error())
			s.Lines = []document.Cell{{Text: text, Emphasis: document.Bad}}
		} else if s.Rows = inventory(p, inv.Inventory); len(s.Rows) == 0 {
			s.Lines = []document.Cell{{Text: p.T("cli.cleanup.nothing")}}
		}
		out = append(out, s)
	}
	return out
}

// inventory has a row for each kind of what a machine has of ours.
func inventory(p *i18n.Printer, x phases.Inventory) [][]document.Cell {
	var rows [][]document.Cell
	for _, kind := range []struct {
		name  string
		is    bool
		value string
	}{
		{"units", len(x.Units) > 0, strings.Join(x.Units, ", ")},
		{"packages", len(x.Packages) > 0, strings.Join(x.Packages, ", ")},
		{"files", x.Files > 0, strconv.Itoa(x.Files)},
		{"directories", len(x.Directories) > 0, strings.Join(x.Directories, ", ")},
		{"images", x.Images > 0, strconv.Itoa(x.Images)},
	} {
		if kind.is {
			rows = append(rows, []document.Cell{{Text: p.T("cli.cleanup." + kind.name)}, {Text: kind.value}})
		}
	}
	return rows
}
