package bundles

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/sign"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/operator/pod"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// mostReport bounds a report: a termination message has at most 4096 bytes.
const mostReport = 4000

// Report is the result of an inspection. With a Fault, nothing else is set.
type Report struct {
	Version  string       `json:"version,omitempty"` // of Kubernetes
	Arch     string       `json:"arch,omitempty"`
	Digest   string       `json:"digest,omitempty"` // sha256: and that of the checksums
	SignedBy string       `json:"signedBy,omitempty"`
	Size     int64        `json:"size,omitempty"` // bytes
	Fault    *event.Fault `json:"fault,omitempty"`
}

// Inspect reads the head of a bundle, and checks its signature. signers is a file of allowed signers; one that does not
// exist accepts bundles without a signature.
func Inspect(ctx context.Context, s pod.Source, signers string) Report {
	r, err := inspect(ctx, s, signers)
	if err == nil {
		return r
	}
	f := event.AsFault(err)
	f.Args = maps.Clone(f.Args)
	for k, v := range f.Args { // of the pod, where users cannot look
		f.Args[k] = strings.ReplaceAll(v, s.Path, shown(s))
	}
	return Report{Fault: f}
}

// shown returns a bundle as users know it.
func shown(s pod.Source) string {
	switch {
	case s.Claim != "":
		rel, err := filepath.Rel(filepath.Join(pod.BundlesDir, "claim"), s.Path)
		if err != nil || strings.HasPrefix(rel, "..") {
			return s.Claim + "/" + filepath.Base(s.Path)
		}
		return rel
	case s.Image != "":
		return s.Image
	}
	return s.URL
}

func inspect(ctx context.Context, s pod.Source, signers string) (Report, error) {
	a, err := bundle.Open(s.Path)
	if err != nil {
		return Report{}, err
	}
	m := a.Manifest()
	sum := sha256.Sum256(a.Sums())
	r := Report{Version: event.Clip(event.Clean(m.Kubernetes), 64), Arch: event.Clip(event.Clean(m.Arch), 16),
		Digest: "sha256:" + hex.EncodeToString(sum[:]), Size: a.Size()}
	var allowed *sign.AllowedSigners
	if _, err := os.Stat(signers); !errors.Is(err, fs.ErrNotExist) {
		if allowed, err = trust.ReadFile(signers); err != nil {
			return Report{}, err
		}
	}
	c := &trust.Checker{Allowed: allowed, Now: time.Now}
	signed, err := c.Check(ctx, s.Path, m, a.Sums())
	if err != nil {
		return Report{}, err
	}
	if signed.State == trust.Signed {
		r.SignedBy = event.Clip(event.Clean(signed.Identity), 256)
	}
	return r, nil
}

// Run fetches a bundle, inspects it, and writes the report to a file. source is a pod.Source as JSON. There is no fault
// if there is a report, whatever it has. The faults are bundles.source and bundles.scratch.
func Run(ctx context.Context, source, report string) error {
	var s pod.Source
	if json.Unmarshal([]byte(source), &s) != nil || s.Path == "" {
		return event.NewFault(event.ClassUsage, "bundles.source", nil)
	}
	var r Report
	if err := (&Fetcher{PullDir: pod.PullDir}).Fetch(ctx, s); err != nil {
		r.Fault = event.AsFault(err)
	} else {
		r = Inspect(ctx, s, pod.SignersFile)
	}
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err := os.WriteFile(report, r.encode(), 0o600); err != nil {
		return event.NewFault(event.ClassFailed, "bundles.scratch", err)
	}
	return nil
}

// encode returns a report as it is written: short enough for a termination message.
func (r Report) encode() []byte {
	text, err := json.Marshal(r)
	if err == nil && len(text) <= mostReport {
		return text
	}
	short := Report{Fault: event.NewFault(event.ClassBundle, "bundles.report", nil)}
	if f := r.Fault; f != nil {
		short.Fault = &event.Fault{Code: f.Code, Class: f.Class, Args: map[string]string{},
			Cause: event.Clip(f.Cause, 500)}
		for k, v := range f.Args {
			short.Fault.Args[k] = event.Clip(v, 200)
		}
	}
	if text, err = json.Marshal(short); err != nil || len(text) > mostReport {
		return []byte(`{"fault":{"code":"bundles.report","class":"bundle"}}`)
	}
	return text
}
