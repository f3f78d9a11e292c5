package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/staging"
)

// trustOptions are the flags of the verbs that install from a bundle.
type trustOptions struct {
	signers       string // an allowed_signers file for this run, in place of the host's
	allowUnsigned bool
}

func (o *trustOptions) trustFlags(cmd *cobra.Command, env *environment) {
	cmd.Flags().StringVar(&o.signers, "signers", "", env.P.T("cli.flag.signers"))
	cmd.Flags().BoolVar(&o.allowUnsigned, "allow-unsigned", false, env.P.T("cli.flag.allow-unsigned"))
}

// request is what the flags say to an operation.
func (o *trustOptions) request() request.Trust {
	return request.Trust{Signers: o.signers, AllowUnsigned: o.allowUnsigned}
}

// again are the flags as they are given once more.
func (o *trustOptions) again() string {
	out := ""
	if o.signers != "" {
		out += " --signers " + shellWord(o.signers)
	}
	if o.allowUnsigned {
		out += " --allow-unsigned"
	}
	return out
}

// voucher makes the session's judge of bundles when the first is met.
func (s *session) voucher() (*staging.Checker, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vouches == nil {
		v, err := staging.NewChecker(s.root, s.trust.request(), s.askSigner)
		if err != nil {
			return nil, err
		}
		s.vouches = v
	}
	return s.vouches, nil
}

// vouch is what a bundle's head is held against before anything of it is unpacked. What is found out is told once.
func (s *session) vouch(ctx context.Context, file string, m *bundle.Manifest, sums []byte) error {
	v, err := s.voucher()
	if err != nil {
		return err
	}
	found, fresh, err := v.Check(ctx, file, m, sums)
	if err != nil || !fresh {
		return err
	}
	if err := s.bus.Emit(event.Notice{Text: found.Msg()}); err != nil {
		return err
	}
	if f := found.Warning(); f != nil {
		return s.bus.Emit(event.Finding{Severity: event.Warning, Fault: *f})
	}
	return nil
}

// stages says whether the session's verb installs from bundles.
func (s *session) stages() bool {
	return slices.Contains([]string{"deploy", "join", "delete", "renew", "certs"}, s.verb)
}

// askSigners decides about the bundles of deploy.yaml from their heads, so that who is asked about a key is asked
// before the run begins. What cannot be read is preflight's to tell.
func (s *session) askSigners(ctx context.Context) error {
	v, err := s.voucher()
	if err != nil {
		return err
	}
	knew := v.Learned()
	if err := s.vouchAll(ctx); err != nil || v.Learned() == knew {
		return err
	}
	return s.vouchAll(ctx) // a yes to a later one is a no to those before that nobody signed
}

func (s *session) vouchAll(ctx context.Context) error {
	for _, b := range s.cluster.Bundles() {
		path := s.bundlePath(b)
		a, err := bundle.Open(path)
		if err != nil {
			continue
		}
		if err := s.vouch(ctx, path, a.Manifest(), a.Sums()); err != nil {
			return err
		}
	}
	return nil
}

func (s *session) bundlePath(b config.BundleSource) string {
	if filepath.IsAbs(b.Path) {
		return b.Path
	}
	return filepath.Join(filepath.Dir(s.file), b.Path)
}

// askSigner asks about a key that nobody has said anything about, and remembers one that is trusted.
func (s *session) askSigner(ctx context.Context, q trust.Question) (yes, asked bool, err error) {
	if _, person := terminal(s.env); s.env.Ask == nil && !person {
		return false, false, nil
	}
	if s.env.Ask == nil {
		s.ask.Lock()
		defer s.ask.Unlock()
	}
	yes, err = s.env.asker().signer(ctx, backend.Signer{
		Bundle: filepath.Base(q.File), Name: q.Manifest.Name, Arch: q.Manifest.Arch, Type: q.Signer.KeyType, Fingerprint: q.Signer.Fingerprint,
	})
	if errors.Is(err, errNobody) {
		return false, false, nil
	}
	if err != nil || !yes {
		return false, true, err
	}
	line, err := q.Signer.AllowedLine(trust.Unnamed(q.Signer))
	if err == nil {
		_, err = trust.In(s.root).Add([]string{fmt.Sprintf("# trusted on %s for %s", time.Now().Format(time.DateOnly), q.Manifest.Name), line})
	}
	return true, true, err
}

// jsonBundle is a bundle and who signed it, as a line or in the status. The names of its fields do not change.
type jsonBundle struct {
	Type        string `json:"type"` // bundle
	File        string `json:"file"`
	Name        string `json:"name"`
	Arch        string `json:"arch"`
	ID          string `json:"id"`
	Signature   string `json:"signature"` // signed, unsigned, unknown-signer, overridden
	Identity    string `json:"identity,omitempty"`
	KeyType     string `json:"key_type,omitempty"`
	Fingerprint string `json:"fingerprint,omitempty"`
	Code        string `json:"code,omitempty"` // of the fault that was overridden
}

// bundleOf reads what staging.Checked.Msg says.
func bundleOf(m event.Msg) jsonBundle {
	a := m.Args
	return jsonBundle{"bundle", a["file"], a["name"], a["arch"], a["id"], strings.TrimPrefix(m.Key, trustKeys), a["who"], a["type"], a["key"], a["code"]}
}

// trustKeys begin the keys of what staging.Checked.Msg says.
const trustKeys = "trust."

// vouchedFor are the bundles that the session has decided about.
func (s *session) vouchedFor() []event.Msg {
	s.mu.Lock()
	v := s.vouches
	s.mu.Unlock()
	if v == nil {
		return nil
	}
	var out []event.Msg
	for _, f := range v.All() {
		out = append(out, f.Msg())
	}
	return out
}

func (s *session) printBundles() {
	for _, m := range s.vouchedFor() {
		fmt.Fprintln(s.env.Stdout, s.env.P.Msg(m))
	}
}

func (s *session) bundlesJSON(out *lines) {
	for _, m := range s.vouchedFor() {
		out.put(bundleOf(m))
	}
}
