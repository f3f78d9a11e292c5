package operation

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/phases/upgrade"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// Meta is the store of a cluster that manages others.
type Meta interface {
	Store
	// Place names it in messages.
	Place() string
	// CA is the certificate of the CA of its API server, as PEM; nil: not known.
	CA() []byte
	// Remove removes what it has of a cluster. The cluster's lock must not be held by this process.
	Remove(ctx context.Context, cluster string) error
}

// HandoverResult is where a cluster is after a hand-over.
type HandoverResult struct {
	Cluster string
	Place   string // of the meta cluster
	Dir     string // of the cluster on this host
	Fence   uint64 // the number that the nodes have
	Already bool   // nothing was left to do
	// Findings are what was found on the nodes; with an error, what refuses the hand-over.
	Findings []event.Finding
}

// Handover moves a cluster to a meta cluster, or back, under the locks of both sides and of the nodes. meta connects to
// the meta cluster, with a directory for files that is removed at the end. tell is called before each step; its error
// ends the hand-over there, and the same call continues it. The result is there also with an error.
//
// The cluster belongs to the new owner from the moment when the first node has that owner. Until then the preflight of
// the new side refuses all runs, and from then on that of the old side: Owner.From of the new owner says which nodes of
// the old one it may change. What comes before can be repeated, what comes after is completed by a repetition.
func Handover(
	ctx context.Context, q request.Handover, d Deps, meta func(root string) (Meta, error), tell func(event.Msg) error,
) (*HandoverResult, error) {
	h := &handover{q: q, d: d, tell: tell, seen: &collector{}}
	h.result = &HandoverResult{Cluster: q.Cluster}
	err := h.both(ctx, meta)
	h.result.Findings = h.seen.findings()
	return h.result, err
}

// handover is one in progress.
type handover struct {
	q      request.Handover
	d      Deps
	tell   func(event.Msg) error
	meta   Meta
	seen   *collector
	result *HandoverResult

	local, there Files      // of this host, and of the meta cluster
	mine, theirs node.Owner // that they have
	moved        *moved     // where the cluster is; nil: here, or being handed over
	nodes        *phases.Owned
	cluster      *config.Cluster // of the deploy.yaml that the nodes are reached by
	text         []byte          // the deploy.yaml that this host has when the cluster is back
	conns        Connections
	sends        bool // the meta cluster has got files
	release      bool // the meta cluster's state is removed at the end
}

// both takes the locks of both sides and does the work.
func (h *handover) both(ctx context.Context, meta func(string) (Meta, error)) (err error) {
	if err := h.q.Validate(); err != nil {
		return err
	}
	if !h.q.Back {
		if _, _, err := configOf(ctx, h.d.Store, h.q.Cluster); err != nil {
			return err
		}
	}
	dir, remove, err := ownDir(h.d.Store.Where())
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	defer remove()
	if h.meta, err = meta(dir); err != nil {
		return err
	}
	h.result.Place = h.meta.Place()
	if h.local, err = h.d.Store.Open(ctx, h.q.Cluster); err != nil {
		return err
	}
	defer func() {
		if bare(h.local.Dir()) { // nothing has come of it
			err = errors.Join(err, os.RemoveAll(h.local.Dir()))
		}
		err = errors.Join(err, h.local.Close())
	}()
	h.result.Dir = h.local.Dir()
	return held(ctx, h.d, h.local, h.q.Cluster, "handover", func(ctx context.Context) error {
		if h.there, err = h.meta.Open(ctx, h.q.Cluster); err != nil {
			return err
		}
		defer h.there.Close()
		empty := false
		err := held(ctx, h.d, h.there, h.q.Cluster, "handover", func(ctx context.Context) error {
			_, _, none := h.there.Config() // after the lock, which reads it
			empty = errors.Is(none, fs.ErrNotExist)
			return h.work(ctx)
		})
		switch {
		case err == nil && h.release:
			err = h.removeThere(ctx)
		case err != nil && empty && !h.sends && h.theirs.ID == "": // the lock alone has made objects there
			err = errors.Join(err, h.meta.Remove(ctx, h.q.Cluster))
		}
		return err
	})
}

// work does all that needs both locks.
func (h *handover) work(ctx context.Context) (err error) {
	defer func() {
		if h.conns != nil {
			h.conns.Close()
		}
	}()
	if h.mine, err = input.ReadOwner(h.local.Dir()); err != nil {
		return err
	}
	if h.theirs, err = input.ReadOwner(h.there.Dir()); err != nil {
		return err
	}
	if h.moved, err = readMoved(h.local.Dir()); err != nil {
		return err
	}
	if err := h.sameCluster(); err != nil {
		return err
	}
	if h.q.Back {
		return h.back(ctx)
	}
	return h.forward(ctx)
}

// sameCluster refuses a meta cluster that has another cluster of the name, or is the cluster itself.
func (h *handover) sameCluster() error {
	var ca [2][]byte
	for i, files := range []Files{h.local, h.there} {
		data, err := os.ReadFile(filepath.Join(files.Dir(), "pki", "ca.crt"))
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return event.NewFault(event.ClassFailed, "state.read", err)
		}
		ca[i] = bytes.TrimSpace(data)
	}
	if ca[0] != nil && ca[1] != nil && !bytes.Equal(ca[0], ca[1]) {
		return h.fault("handover.other-cluster")
	}
	if own := bytes.TrimSpace(h.meta.CA()); len(own) > 0 && (bytes.Equal(own, ca[0]) || bytes.Equal(own, ca[1])) {
		return h.fault("handover.itself")
	}
	return nil
}

func (h *handover) fault(code string, kv ...string) *event.Fault {
	return event.NewFault(event.ClassUsage, code, nil, append([]string{"cluster", h.q.Cluster, "dir", h.local.Dir(),
		"place", h.meta.Place()}, kv...)...)
}

// forward hands the cluster over.
func (h *handover) forward(ctx context.Context) error {
	if h.moved != nil {
		if h.theirs.ID == "" || h.moved.Owner != h.theirs.ID {
			return h.moved.fault(h.q.Cluster, h.local.Dir())
		}
		h.result.Already, h.result.Fence = true, h.theirs.Fence
		return h.moved.mark(h.local) // it may have been interrupted
	}
	if err := h.finished(h.local.Dir()); err != nil {
		return err
	}
	begun := h.mine.ID != "" && h.theirs.From.ID == h.mine.ID
	if !begun && h.theirs.ID != "" {
		return h.fault("handover.owned", "owner", h.theirs.ID)
	}
	text, path, err := h.local.Config()
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	if err := h.reach(ctx, text, path); err != nil {
		return err
	}
	given := begun && h.nodes.Has(h.theirs.ID)
	if given {
		h.nodes.Use(h.there.Dir(), h.there.Persist)
	}
	if err := h.step(ctx, "handover.step.check"); err != nil {
		return err
	}
	if err := h.nodes.Check(ctx); err != nil {
		return err
	}
	if !given {
		if err := h.give(ctx, text); err != nil {
			return err
		}
	}
	if err := h.own(ctx, h.theirs); err != nil {
		return err
	}
	if err := h.step(ctx, "handover.step.mark"); err != nil {
		return err
	}
	m := moved{Place: h.meta.Place(), Owner: h.theirs.ID, By: h.theirs.By, At: h.theirs.At}
	return m.mark(h.local)
}

// give has the meta cluster hold the files of the cluster, with an owner that counts once a node has it.
func (h *handover) give(ctx context.Context, text []byte) error {
	if err := h.step(ctx, "handover.step.number"); err != nil {
		return err
	}
	err := h.nodes.Raise(ctx)
	if err != nil {
		return err
	}
	if h.mine, err = input.ReadOwner(h.local.Dir()); err != nil {
		return err
	}
	if err := h.step(ctx, "handover.step.files"); err != nil {
		return err
	}
	h.sends = true
	if err := h.send(ctx, text); err != nil {
		return err
	}
	if err := h.step(ctx, "handover.step.owner"); err != nil {
		return err
	}
	h.theirs = h.newOwner(h.theirs.ID, node.OwnerMeta, h.mine)
	h.theirs.Place = h.meta.Place()
	return writeOwner(ctx, h.there, h.theirs)
}

// newOwner returns the owner that follows another one; "": with an ID of its own.
func (h *handover) newOwner(id, kind string, from node.Owner) node.Owner {
	if id == "" {
		id = input.NewUUID()
	}
	return node.Owner{Format: node.OwnerFormat, ID: id, Kind: kind, Fence: from.Fence + 1, Token: rand.Text(),
		By: h.holder(), At: h.d.clock().Now().UTC(), From: from.Former()}
}

func (h *handover) holder() string { return h.d.holder("handover").String() + " " + h.q.Cluster }

// writeOwner makes an owner that of files, and persists it with all that is persisted together with it.
func writeOwner(ctx context.Context, files Files, o node.Owner) error {
	if err := input.WriteUnderWay(files.Dir(), input.OwnerName, o); err != nil {
		return err
	}
	return persist(ctx, files, input.KeptFormer, input.KeptDNS, input.KeptOwner)
}

// own writes the new owner to the nodes: to one first, from which on it counts.
func (h *handover) own(ctx context.Context, o node.Owner) error {
	if err := h.step(ctx, "handover.step.first-node", "node", h.nodes.First()); err != nil {
		return err
	}
	if err := h.nodes.Own(ctx, h.nodes.First(), o); err != nil {
		return err
	}
	if err := h.step(ctx, "handover.step.nodes"); err != nil {
		return err
	}
	h.result.Fence = o.Fence
	return h.nodes.Own(ctx, "", o)
}

// step announces a step.
func (h *handover) step(ctx context.Context, key string, kv ...string) error {
	if ctx.Err() != nil {
		return interrupted(ctx)
	}
	return h.tell(event.M(key, append(kv, "cluster", h.q.Cluster, "place", h.meta.Place(), "dir", h.local.Dir())...))
}

// finished refuses files that say that something on the nodes is not finished: what it needs on this host is not handed
// over.
func (h *handover) finished(dir string) error {
	b, err := upgrade.ReadBegun(dir)
	if err != nil {
		return err
	}
	what := ""
	if b.Under() {
		what = input.UpgradeName
	}
	for _, name := range []string{input.SeedName, input.RestoreName, importMark} {
		if _, err := os.Lstat(filepath.Join(dir, name)); err == nil {
			what = name
		}
	}
	if what != "" {
		return h.fault("handover.unfinished", "file", what)
	}
	return nil
}

// reach connects to the nodes of a deploy.yaml and reads their owners. Host keys of the meta cluster count only where
// this host has none of the cluster.
func (h *handover) reach(ctx context.Context, text []byte, path string) error {
	c, problems := config.Load(text, path)
	if c == nil {
		return problems.Err()
	}
	var also []string
	if _, err := os.Lstat(filepath.Join(h.local.Dir(), backup.KnownHosts)); errors.Is(err, fs.ErrNotExist) {
		also = []string{filepath.Join(h.there.Dir(), backup.KnownHosts)}
	}
	common := request.Common{Source: request.Source{Cluster: h.q.Cluster}, HostKeys: h.q.HostKeys,
		TakeOver: h.q.TakeOver}
	p := &prepared{deps: h.d, request: request.Deploy{Common: common}, files: h.local, holder: h.holder(),
		source: &source{cluster: c, file: path, tell: h.d.Problems},
		fence:  &input.Fence{By: h.holder(), TakeOver: h.q.TakeOver},
		also:   also}
	sinks := []event.Sink{h.seen}
	if h.d.Sink != nil {
		sinks = append(sinks, h.d.Sink)
	}
	p.bus = event.NewBus(h.d.clock().Now, sinks...)
	if err := p.reach(ctx); err != nil {
		return err
	}
	p.bundles.Release()
	h.conns, h.cluster = p.conns, c
	h.nodes = phases.ReadOwned(ctx, p.phasesEnv())
	return nil
}
