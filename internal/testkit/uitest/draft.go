package uitest

import (
	"context"
	"net/netip"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Draft is a fake of the control host of a draft. A function that is nil finds nothing.
type Draft struct {
	OnLoad      func() (draft.Saved, bool)
	OnSave      func(draft.Saved) error
	OnForget    func() error
	OnRead      func(path string) ([]byte, error)
	OnFile      func(cluster string) string
	OnKeys      func() []string
	OnKeyFile   func(path string) *event.Fault
	OnProbe     func(ctx context.Context, d config.Draft, m config.Machine, tell func(draft.Probe))
	OnLookup    func(ctx context.Context, host string) ([]netip.Addr, error)
	OnBundles   func(ctx context.Context, paths []string, tell func(draft.Bundle))
	OnPreflight func(ctx context.Context, d config.Draft, file string, tell func(draft.Check))
	OnPlan      func(ctx context.Context, d config.Draft, file string) ([]draft.Planned, error)
	OnPast      func(ctx context.Context) []draft.Past
	OnWrite     func(path string, d config.Draft, p *i18n.Printer) error
	OnStart     func(file string, d config.Draft) backend.Start
}

// Load implements backend.DraftServices.
func (d *Draft) Load() (out draft.Saved, ok bool) {
	if d.OnLoad != nil {
		out, ok = d.OnLoad()
	}
	return out, ok
}

// Save implements backend.DraftServices.
func (d *Draft) Save(s draft.Saved) (err error) {
	if d.OnSave != nil {
		err = d.OnSave(s)
	}
	return err
}

// Forget implements backend.DraftServices.
func (d *Draft) Forget() (err error) {
	if d.OnForget != nil {
		err = d.OnForget()
	}
	return err
}

// Path implements backend.DraftServices.
func (d *Draft) Path(typed string) string { return typed }

// Read implements backend.DraftServices.
func (d *Draft) Read(path string) (out []byte, err error) {
	if d.OnRead != nil {
		out, err = d.OnRead(path)
	}
	return out, err
}

// File implements backend.DraftServices.
func (d *Draft) File(cluster string) (out string) {
	if d.OnFile != nil {
		out = d.OnFile(cluster)
	}
	return out
}

// Keys implements backend.DraftServices.
func (d *Draft) Keys() (out []string) {
	if d.OnKeys != nil {
		out = d.OnKeys()
	}
	return out
}

// KeyFile implements backend.DraftServices.
func (d *Draft) KeyFile(path string) (out *event.Fault) {
	if d.OnKeyFile != nil {
		out = d.OnKeyFile(path)
	}
	return out
}

// Probe implements backend.DraftServices.
func (d *Draft) Probe(ctx context.Context, of config.Draft, m config.Machine, tell func(draft.Probe)) {
	if d.OnProbe != nil {
		d.OnProbe(ctx, of, m, tell)
	}
}

// Lookup implements backend.DraftServices.
func (d *Draft) Lookup(ctx context.Context, host string) (out []netip.Addr, err error) {
	if d.OnLookup != nil {
		out, err = d.OnLookup(ctx, host)
	}
	return out, err
}

// KnownHosts implements backend.DraftServices.
func (d *Draft) KnownHosts(_ string, keys []ask.HostKey) ([]ask.KeyCheck, error) {
	return make([]ask.KeyCheck, len(keys)), nil
}

// Bundles implements backend.DraftServices.
func (d *Draft) Bundles(ctx context.Context, paths []string, tell func(draft.Bundle)) {
	if d.OnBundles != nil {
		d.OnBundles(ctx, paths, tell)
	}
}

// Preflight implements backend.DraftServices.
func (d *Draft) Preflight(ctx context.Context, of config.Draft, file string, tell func(draft.Check)) {
	if d.OnPreflight != nil {
		d.OnPreflight(ctx, of, file, tell)
	}
}

// Plan implements backend.DraftServices.
func (d *Draft) Plan(ctx context.Context, of config.Draft, file string) (out []draft.Planned, err error) {
	if d.OnPlan != nil {
		out, err = d.OnPlan(ctx, of, file)
	}
	return out, err
}

// Past implements backend.DraftServices.
func (d *Draft) Past(ctx context.Context) (out []draft.Past) {
	if d.OnPast != nil {
		out = d.OnPast(ctx)
	}
	return out
}

// Write implements backend.DraftServices.
func (d *Draft) Write(path string, of config.Draft, p *i18n.Printer) (err error) {
	if d.OnWrite != nil {
		err = d.OnWrite(path, of, p)
	}
	return err
}

// Start implements backend.DraftServices.
func (d *Draft) Start(file string, of config.Draft) (out backend.Start) {
	if d.OnStart != nil {
		out = d.OnStart(file, of)
	}
	return out
}
