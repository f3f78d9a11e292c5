package present

import (
	"cmp"
	"strconv"
	"time"

	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/output/document"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Backups lists backups, with their age.
func Backups(p *i18n.Printer, list []request.BackupInfo, now time.Time) document.Document {
	s := document.Section{Head: columns(p, "cluster", "taken", "age", "size", "kubernetes", "backup")}
	for _, b := range list {
		s.Rows = append(s.Rows, cells(event.Clean(b.Cluster), b.At.Format(time.RFC3339), age(now.Sub(b.At)),
			mebibytes(b.Size), cmp.Or(event.Clean(b.Kubernetes), "–"), event.Clean(b.Path)))
	}
	return document.Document{s}
}

// age is a duration in its largest unit.
func age(d time.Duration) string {
	switch {
	case d < 0:
		return "0m"
	case d < time.Hour:
		return strconv.Itoa(int(d.Minutes())) + "m"
	case d < 48*time.Hour:
		return strconv.Itoa(int(d.Hours())) + "h"
	}
	return strconv.Itoa(int(d.Hours()/24)) + "d"
}

// mebibytes is a size that no backup is smaller than.
func mebibytes(n int64) string {
	return strconv.FormatFloat(float64(n)/(1<<20), 'f', 1, 64) + " MiB"
}

// BackupProof says what is proven about a backup, and what is not.
func BackupProof(p *i18n.Printer, b *request.BackupProof) document.Document {
	key := "backup.proven-database"
	if b.Etcd {
		key = "backup.proven-etcd"
	}
	out := document.Document{document.Text(
		p.T("backup.proven", "cluster", event.Clean(b.Cluster), "at", b.At.Format(time.RFC3339), "kubernetes",
			cmp.Or(event.Clean(b.Kubernetes), "–"), "program", event.Clean(b.Program)),
		p.T("backup.proven-files", "count", strconv.Itoa(b.Files)),
		p.T(key, "revision", strconv.FormatInt(b.Revision, 10), "keys", strconv.FormatInt(b.Keys, 10)))}
	if b.NoEtcd != nil {
		text, next := p.Fault(b.NoEtcd)
		out = append(out, document.Text(text, "  "+next))
	}
	return out
}

// BackupContent says what is about to be restored, and where.
func BackupContent(p *i18n.Printer, b operation.BackupContent) document.Document {
	out := document.Document{document.Text(p.T("ask.backup-restore", "cluster", event.Clean(b.Cluster), "at",
		b.At.Format(time.RFC3339), "kubernetes", cmp.Or(event.Clean(b.Kubernetes), "–"), "revision",
		strconv.FormatInt(b.Snapshot.Revision, 10)))}
	if len(b.Nodes) > 0 {
		out = append(out, Nodes(b.Nodes)...)
	}
	return out
}
