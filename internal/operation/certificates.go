package operation

import (
	"context"
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// CertificateRow is one certificate in one place.
type CertificateRow struct {
	pki.Certificate
	At string `json:"at"` // a file of the control host or of a node, or the address that shows it
	// State: ok, soon, expired, other (than the control host's), absent, silent, unreachable, no-login.
	State string       `json:"state"`
	Fault *event.Fault `json:"fault,omitempty"` // why a node could not be inspected
	// Days until it ends, whole ones; fewer than none when it has ended. nil of one that nobody has seen.
	Days *int `json:"days_left,omitempty"`
}

func (r *CertificateRow) check(now time.Time) {
	if !r.NotAfter.IsZero() {
		days := int(math.Floor(r.NotAfter.Sub(now).Hours() / 24))
		r.Days = &days
	}
	switch {
	case r.State != "":
	case now.After(r.NotAfter):
		r.State = "expired"
	case now.Add(pki.RenewAhead).After(r.NotAfter):
		r.State = "soon"
	default:
		r.State = "ok"
	}
}

// Certificates are those that the control host has, and those that the nodes have; offline, no node is asked.
func Certificates(ctx context.Context, c request.Common, offline bool, d Deps) ([]CertificateRow, error) {
	p, err := load(ctx, request.Deploy{Common: c}, d)
	if err != nil {
		return nil, err
	}
	defer p.close()
	if p.files, err = d.Store.Read(ctx, p.cluster.Name); err != nil {
		return nil, err
	}
	if !offline {
		if err := p.reach(ctx); err != nil {
			return nil, err
		}
	}
	dir := filepath.Join(p.files.Dir(), "pki")
	if _, err := os.Stat(dir); err != nil {
		return nil, event.NewFault(event.ClassUsage, "certs.no-cluster", err,
			"cluster", p.cluster.Name, "dir", p.files.Dir())
	}
	list, err := pki.List(dir)
	if err != nil {
		return nil, err
	}
	ours := map[string]pki.Certificate{}
	var rows []CertificateRow
	for _, c := range list {
		ours[c.Name] = c
		rows = append(rows, CertificateRow{Certificate: c, At: filepath.Join(dir, filepath.FromSlash(c.Name)+".crt")})
	}
	if !offline {
		rows = append(rows, p.heldCertificates(ctx, ours)...)
	}
	now := d.clock().Now()
	for i := range rows {
		rows[i].check(now)
	}
	return rows, nil
}

// heldCertificates asks all nodes at once.
func (p *prepared) heldCertificates(ctx context.Context, ours map[string]pki.Certificate) []CertificateRow {
	type held struct {
		list     []phases.NodeCertificate
		imported bool
	}
	var out []CertificateRow
	for _, r := range onNodes(ctx, p, func(ctx context.Context, h Host, n config.Node) (got held, err error) {
		if got.imported, err = phases.Imported(ctx, h); err == nil {
			got.list, err = phases.NodeCertificates(ctx, h, p.cluster, n)
		}
		return got, err
	}) {
		if r.Err != nil {
			silent := CertificateRow{At: r.Node.IP.String(), State: "unreachable", Fault: event.AsFault(r.Err)}
			if silent.Fault.Class == event.ClassAuth {
				silent.State = "no-login"
			}
			silent.Node = r.Node.Name
			out = append(out, silent)
			continue
		}
		rows := heldBy(r.Node, r.Value.list, ours)
		if r.Value.imported {
			rows = asMade(rows, r.Value.list, ours)
		}
		out = append(out, rows...)
	}
	return out
}

// heldBy are the certificates that one node has.
func heldBy(n config.Node, list []phases.NodeCertificate, ours map[string]pki.Certificate) []CertificateRow {
	var out []CertificateRow
	for _, c := range list {
		row := CertificateRow{At: c.At, State: c.Why}
		if c.Cert != nil {
			row.Certificate = *c.Cert
		}
		row.Node, row.Name = n.Name, c.Name
		if c.Name == "" {
			row.Name = c.Own
		} else if c.Cert != nil && ours[c.Name].Fingerprint != c.Cert.Fingerprint {
			row.State = "other"
		}
		out = append(out, row)
	}
	return out
}

// asMade are those of a node that was imported. As long as it has none of the control host's certificates it was
// not taken over: it is right that its own are others, and that it lacks those that only Eggo has.
func asMade(rows []CertificateRow, list []phases.NodeCertificate, ours map[string]pki.Certificate) []CertificateRow {
	if slices.ContainsFunc(list, func(c phases.NodeCertificate) bool {
		return c.Name != "" && c.Cert != nil && !c.Cert.Authority && ours[c.Name].Fingerprint == c.Cert.Fingerprint
	}) {
		return rows
	}
	rows = slices.DeleteFunc(rows, func(r CertificateRow) bool { return r.State == "absent" })
	for i := range rows {
		if rows[i].State == "other" {
			rows[i].State = ""
		}
	}
	return rows
}
