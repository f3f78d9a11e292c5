package host

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"maps"
	"net"
	"net/netip"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/config/draft"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/ask"
	"github.com/eggo-k8s/eggo/internal/operation/dial"
	"github.com/eggo-k8s/eggo/internal/operation/host/backend"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/staging"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/output/i18n"
	"github.com/eggo-k8s/eggo/internal/remote"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Draft is this control host to an editor of a draft. It lives as long as the wizard.
type Draft struct {
	h      *Host
	kept   *store.Draft   // what was typed
	deps   operation.Deps // of operations with drafts: no user is asked for what was not typed
	search *staging.Search

	mu      sync.Mutex
	trusted map[string]bool // host keys that were accepted, by address and fingerprint
	turn    chan struct{}   // holds one for each machine that is probed
}

// probesAtOnce is how many machines are probed at once.
const probesAtOnce = 16

func (h *Host) newDraft(kept *store.Draft) *Draft {
	d := &Draft{
		h: h, kept: kept, search: staging.NewSearch(h.Root), turn: make(chan struct{}, probesAtOnce), deps: h.Deps(),
		trusted: map[string]bool{},
	}
	d.deps.KnownHosts = []string{kept.KnownHosts()}
	return d
}

// Draft returns the control host of the draft of a new cluster.
func (h *Host) Draft() backend.DraftServices { return h.newDraft(h.store().Draft()) }

// Lookup asks the resolver of this host, which may know names that no server does.
func (*Draft) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	return LookUp(ctx, host)
}

// LookUp asks the resolver of this host for the addresses of a name.
func LookUp(ctx context.Context, host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(ctx, 10*time.Second)
	defer cancel()
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host)
}

// Start returns the deploy of what was written to a file.
func (d *Draft) Start(file string, _ config.Draft) backend.Start {
	return backend.Start{Request: request.Deploy{Common: request.OfFile(d.Path(file))}}
}

// Load returns the draft that was kept; one that cannot be read is none.
func (d *Draft) Load() (draft.Saved, bool) {
	var s draft.Saved
	if json.Unmarshal(d.kept.Load(), &s) != nil {
		return s, false
	}
	said := len(s.Draft.Machines) > 0 || s.Draft.Count() > 0 || len(s.Typed) > 0
	s.Draft = s.Draft.Clone()
	return s, said
}

// Save keeps a draft. Commands end in any order: an older one does not replace a newer one.
func (d *Draft) Save(s draft.Saved) error {
	data, err := json.MarshalIndent(s, "", "  ")
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return d.kept.Save(append(data, '\n'), s.When)
}

// Forget removes the draft.
func (d *Draft) Forget() error { return d.kept.Forget() }

// Path returns a path as it was typed as an absolute path.
func (d *Draft) Path(path string) string { return d.h.Path(path) }

func (d *Draft) paths(list []string) []string {
	var out []string
	for _, p := range list {
		out = append(out, d.Path(p))
	}
	return out
}

// Read returns the text of a file; nil if it does not exist.
func (d *Draft) Read(path string) ([]byte, error) {
	name := d.Path(path)
	i, err := os.Stat(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err == nil && (!i.Mode().IsRegular() || i.Size() > config.MaxSize):
		err = errors.New(i.Mode().Type().String())
	}
	var data []byte
	if err == nil {
		data, err = os.ReadFile(name)
	}
	if err != nil {
		return nil, event.NewFault(event.ClassUsage, "config.unreadable", err, "file", path)
	}
	return data, nil
}

// KeyFile returns what is wrong with the file of a private key.
func (d *Draft) KeyFile(path string) *event.Fault {
	if err := remote.CheckKey(d.Path(path)); err != nil {
		f := *event.AsFault(err)
		f.Args = maps.Clone(f.Args)
		f.Args["file"] = path
		return &f
	}
	return nil
}

// File returns where a cluster's deploy.yaml is written: ~/.eggo/deploy.yaml, as for every verb, unless that is another
// cluster's.
func (d *Draft) File(cluster string) string {
	usual := UsualConfig(d.h.Getenv)
	data, err := os.ReadFile(usual)
	if errors.Is(err, fs.ErrNotExist) {
		return usual
	}
	if have, _ := config.ReadDraft(data, usual); err == nil && have.Get("cluster-id") == cluster {
		return usual
	}
	return filepath.Join(filepath.Dir(usual), filepath.Base(cluster)+".yaml")
}

// KnownHosts compares unknown host keys with a known_hosts file of this machine.
func (d *Draft) KnownHosts(path string, keys []ask.HostKey) ([]ask.KeyCheck, error) {
	return dial.KnownHosts(d.Path(path), keys)
}

// Keys returns the private keys of the user.
func (d *Draft) Keys() []string {
	return dial.Keys(d.h.home())
}

// Write puts deploy.yaml in its place. What was there is kept beside it, named by the time. Its first line names the
// schema that lies beside it.
func (d *Draft) Write(path string, of config.Draft, p *i18n.Printer) error {
	text, name := of.Commented(p), d.Path(path)
	err := os.MkdirAll(filepath.Dir(name), 0o700)
	undo := func() {}
	if err == nil && store.SchemaIsOurs(name) {
		if u, e := store.SaveSchema(name, config.Schema(p)); e == nil { // only an editor elsewhere misses it
			text, undo = append([]byte(config.Modeline), text...), u
		}
	}
	if err == nil {
		err = store.Replace(name, text, time.Now())
	}
	if err != nil {
		undo()
		return event.NewFault(event.ClassFailed, "template.write", err, "file", path)
	}
	return d.trustIn(of.Get("cluster-id"), of)
}

// trustIn gives the cluster the host keys that the user has accepted meanwhile, where the next command reads them.
func (d *Draft) trustIn(cluster string, of config.Draft) error {
	named := of.Get("eggo.known-hosts")
	if named != "" {
		named = d.Path(named)
	}
	return store.Dir{Root: d.h.Root}.Trust(cluster, named, d.kept.KnownHosts())
}

// request returns the request of read-only operations with a draft: its secrets are those that were typed.
func (d *Draft) request(of config.Draft, file string) (request.Common, error) {
	name := d.Path(file)
	c, problems, err := of.Cluster(name)
	if err != nil {
		return request.Common{}, err
	}
	if c != nil {
		problems = append(problems, config.Unsupported(c)...)
	}
	for _, p := range problems {
		if p.Severity == event.Error {
			return request.Common{}, p.Fault()
		}
	}
	return request.Common{
		Source:   request.Source{File: name, Text: of.YAML(), Parsed: c},
		HostKeys: "strict",
	}, nil
}
