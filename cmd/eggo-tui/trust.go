package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/bundle/trust"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/journal"
	"github.com/eggo-k8s/eggo/internal/ui/jumphost"
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

// vouched is what was found out about a bundle.
type vouched struct {
	file     string
	manifest *bundle.Manifest
	id       string
	trust.Verdict
}

// msg says it: the front ends and the log have it from there.
func (v vouched) msg() event.Msg {
	args := []string{"file", filepath.Base(v.file), "name", v.manifest.Name, "arch", v.manifest.Arch, "id", v.id}
	switch v.State {
	case trust.Signed:
		return event.M("trust.signed", append(args, "who", event.Clean(v.Identity), "type", v.KeyType, "key", v.Fingerprint)...)
	case trust.Stranger:
		return event.M("trust.unknown-signer", append(args, "type", v.KeyType, "key", v.Fingerprint)...)
	case trust.Overridden:
		return event.M("trust.overridden", append(args, "code", v.Why.Code)...)
	}
	return event.M("trust.unsigned", args...)
}

// warning is the finding of a bundle that nobody vouches for; nil when somebody does.
func (v vouched) warning() *event.Fault {
	file := filepath.Base(v.file)
	switch v.State {
	case trust.Unsigned:
		return event.NewFault(event.ClassBundle, "trust.nobody", nil, "file", file)
	case trust.Stranger:
		return event.NewFault(event.ClassBundle, "trust.stranger", nil, "file", file, "type", v.KeyType, "key", v.Fingerprint)
	case trust.Overridden:
		return event.NewFault(event.ClassBundle, "trust.override", nil, "file", file, "code", v.Why.Code)
	}
	return nil
}

// vouching decides about bundles for a session, each once.
type vouching struct {
	store *trust.Store
	judge trust.Judge
	mu    sync.Mutex
	found map[string]vouched // by file and id
	order []string
	// learned says that a signer became known in this session.
	learned bool
}

// newVouching reads the signers: those of --signers, else those that the control host knows.
func newVouching(root string, o trustOptions, ask func(context.Context, trust.Question) (bool, bool, error)) (*vouching, error) {
	v := &vouching{store: trust.In(root), judge: trust.Judge{AllowUnsigned: o.allowUnsigned, Now: time.Now, Ask: ask}, found: map[string]vouched{}}
	var err error
	v.judge.Allowed, err = v.store.Load()
	if o.signers != "" {
		v.judge.Allowed, err = trust.ReadFile(o.signers)
	}
	return v, err
}

// check decides about a bundle. fresh says that it was not decided before in this session.
func (v *vouching) check(ctx context.Context, file string, m *bundle.Manifest, sums []byte) (found vouched, fresh bool, err error) {
	v.mu.Lock()
	defer v.mu.Unlock()
	key := file + "\x00" + string(sums)
	if f, ok := v.found[key]; ok {
		return f, false, nil
	}
	verdict, err := v.judge.Check(ctx, file, m, sums)
	if err != nil {
		if f := event.AsFault(err); f.Args["file"] == "" {
			f.Args = withArg(f.Args, "file", file)
		}
		return vouched{}, false, err
	}
	if v.judge.Allowed == nil && verdict.State == trust.Signed { // it was asked about: from now on a signer is known
		if v.judge.Allowed, err = v.store.Load(); err != nil {
			return vouched{}, false, err
		}
		v.found, v.order = map[string]vouched{}, nil // what was let through while nobody was known is judged again
		v.learned = true
	}
	found = vouched{file: file, manifest: m, id: sumsID(sums), Verdict: verdict}
	v.found[key] = found
	v.order = append(v.order, key)
	return found, true, nil
}

func withArg(args map[string]string, name, value string) map[string]string {
	if args == nil {
		args = map[string]string{}
	}
	args[name] = value
	return args
}

// sumsID is the first sum of SHA256SUMS, which is that of manifest.json.
func sumsID(sums []byte) string { return string(sums[:min(len(sums), 64)]) }

// all are those that were decided about, in their order.
func (v *vouching) all() []vouched {
	v.mu.Lock()
	defer v.mu.Unlock()
	var out []vouched
	for _, k := range v.order {
		out = append(out, v.found[k])
	}
	return out
}

// voucher makes the session's judge of bundles when the first is met.
func (s *session) voucher() (*vouching, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.vouches == nil {
		v, err := newVouching(s.root, s.trust, s.askSigner)
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
	found, fresh, err := v.check(ctx, file, m, sums)
	if err != nil || !fresh {
		return err
	}
	if err := s.bus.Emit(event.Notice{Text: found.msg()}); err != nil {
		return err
	}
	if f := found.warning(); f != nil {
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
	knew := v.learned
	if err := s.vouchAll(ctx); err != nil || v.learned == knew {
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
	yes, err = s.env.asker().signer(ctx, jumphost.Signer{
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

// bundleOf reads what vouched.msg says.
func bundleOf(m event.Msg) jsonBundle {
	a := m.Args
	return jsonBundle{"bundle", a["file"], a["name"], a["arch"], a["id"], strings.TrimPrefix(m.Key, trustKeys), a["who"], a["type"], a["key"], a["code"]}
}

// trustKeys begin the keys of what vouched.msg says.
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
	for _, f := range v.all() {
		out = append(out, f.msg())
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

// How far back, and how far into a run's log, recordedBundles looks. Bundles are decided about in a run's first steps.
const (
	recordedRuns   = 50
	recordedEvents = 20000
)

// recordedBundles are those of the newest run that installed from some, as its log has them.
func recordedBundles(store *journal.Cluster) []event.Msg {
	ids, err := store.Runs()
	if err != nil {
		return nil
	}
	for i := len(ids) - 1; i >= max(0, len(ids)-recordedRuns); i-- {
		var out []event.Msg
		n := 0
		for rec, err := range journal.Read(store.RunDir(ids[i])) {
			if n++; err != nil || n > recordedEvents {
				break
			}
			if e, ok := rec.Event.(event.Notice); ok && strings.HasPrefix(e.Text.Key, trustKeys) {
				out = append(out, e.Text)
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}
