package trust

import (
	"context"
	"maps"
	"path/filepath"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Checked is what was found out about who signed a bundle.
type Checked struct {
	File     string
	Manifest *bundle.Manifest
	ID       string
	Result
}

// Msg says it: the front ends and the log have it from there.
func (c Checked) Msg() event.Msg {
	args := []string{"file", filepath.Base(c.File), "name", c.Manifest.Name, "arch", c.Manifest.Arch, "id", c.ID}
	switch c.State {
	case Signed:
		args = append(args, "who", event.Clean(c.Identity), "type", c.KeyType, "key", c.Fingerprint)
		return event.M("trust.signed", args...)
	case Stranger:
		return event.M("trust.unknown-signer", append(args, "type", c.KeyType, "key", c.Fingerprint)...)
	case Overridden:
		return event.M("trust.overridden", append(args, "code", c.Why.Code)...)
	}
	return event.M("trust.unsigned", args...)
}

// Warning is the finding of a bundle that nobody vouches for; nil when somebody does.
func (c Checked) Warning() *event.Fault {
	file := filepath.Base(c.File)
	switch c.State {
	case Unsigned:
		return event.NewFault(event.ClassBundle, "trust.nobody", nil, "file", file)
	case Stranger:
		return event.NewFault(event.ClassBundle, "trust.stranger", nil,
			"file", file, "type", c.KeyType, "key", c.Fingerprint)
	case Overridden:
		return event.NewFault(event.ClassBundle, "trust.override", nil, "file", file, "code", c.Why.Code)
	}
	return nil
}

// SignedOnly refuses bundles that no known signer signed, also while none is known.
func (c *Checks) SignedOnly() { c.checker.SignedOnly, c.checker.AllowUnsigned = true, false }

// Checks decides about bundles, each once.
type Checks struct {
	store   *Store
	checker Checker
	mu      sync.Mutex
	found   map[string]Checked // by file and id
	order   []string
	// learned says that a signer became known.
	learned bool
}

// Learned reports whether a signer became known since the Checks were made.
func (c *Checks) Learned() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.learned
}

// NewChecks reads the signers: those of the file signers, else those that the control host with the state directory
// root knows. allowUnsigned lets bundles through that none of them signed. ask is called about an unknown signer, and
// may be nil.
func NewChecks(root, signers string, allowUnsigned bool,
	ask func(context.Context, Question) (yes, asked bool, err error)) (*Checks, error) {
	c := &Checks{
		store: In(root), found: map[string]Checked{},
		checker: Checker{AllowUnsigned: allowUnsigned, Now: time.Now, Ask: ask},
	}
	var err error
	c.checker.Allowed, err = c.store.Load()
	if signers != "" {
		c.checker.Allowed, err = ReadFile(signers)
	}
	return c, err
}

// Check decides about a bundle. fresh says that it was not decided before.
func (c *Checks) Check(
	ctx context.Context, file string, m *bundle.Manifest, sums []byte,
) (found Checked, fresh bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := file + "\x00" + string(sums)
	if f, ok := c.found[key]; ok {
		return f, false, nil
	}
	result, err := c.checker.Check(ctx, file, m, sums)
	if err != nil {
		if f := event.AsFault(err); f.Args["file"] == "" {
			f.Args = withArg(f.Args, "file", file)
		}
		return Checked{}, false, err
	}
	if c.checker.Allowed == nil && result.State == Signed { // it was asked about: from now on a signer is known
		if c.checker.Allowed, err = c.store.Load(); err != nil {
			return Checked{}, false, err
		}
		c.found, c.order = map[string]Checked{}, nil // what was let through while nobody was known is checked again
		c.learned = true
	}
	found = Checked{File: file, Manifest: m, ID: sumsID(sums), Result: result}
	c.found[key] = found
	c.order = append(c.order, key)
	return found, true, nil
}

// All are those that were decided about, in their order.
func (c *Checks) All() []Checked {
	c.mu.Lock()
	defer c.mu.Unlock()
	var out []Checked
	for _, k := range c.order {
		out = append(out, c.found[k])
	}
	return out
}

func withArg(args map[string]string, name, value string) map[string]string {
	args = maps.Clone(args)
	if args == nil {
		args = map[string]string{}
	}
	args[name] = value
	return args
}

// sumsID is the first checksum of SHA256SUMS, which is that of manifest.json.
func sumsID(sums []byte) string { return string(sums[:min(len(sums), 64)]) }
