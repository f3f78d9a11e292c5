package operation

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/backup"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/input"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// back fetches the cluster back.
func (h *handover) back(ctx context.Context) error {
	theirs, path, err := h.there.Config()
	switch {
	case errors.Is(err, fs.ErrNotExist) && h.moved == nil && h.mine.ID != "": // it is here
		h.result.Already, h.result.Fence = true, h.mine.Fence
		h.release = h.theirs.ID == "" || h.mine.From.ID == h.theirs.ID // what an interrupted one has left
		return nil
	case errors.Is(err, fs.ErrNotExist):
		return h.fault("handover.none")
	case err != nil:
		return event.NewFault(event.ClassFailed, "state.read", err)
	}
	if err := h.finished(h.there.Dir()); err != nil {
		return err
	}
	if h.text, path, err = h.ownText(theirs, path); err != nil {
		return err
	}
	if err := h.reach(ctx, h.text, path); err != nil {
		return err
	}
	if err := h.step(ctx, "handover.step.check"); err != nil {
		return err
	}
	begun := h.mine.ID != "" && h.theirs.ID != "" && h.mine.From.ID == h.theirs.ID
	here := begun && h.nodes.Has(h.mine.ID)
	never := h.moved == nil && h.mine.ID != "" && !h.nodes.Has(h.theirs.ID) &&
		(h.theirs.ID == "" || h.theirs.From.ID == h.mine.ID) // a hand-over that no node has seen
	if !here && !never {
		h.nodes.Use(h.there.Dir(), h.there.Persist)
	}
	if err := h.nodes.Check(ctx); err != nil {
		return err
	}
	h.release = true
	if never {
		h.result.Fence = h.mine.Fence
		return nil
	}
	if !here {
		if err := h.fetch(ctx); err != nil {
			return err
		}
	}
	return h.own(ctx, h.mine)
}

// fetch gives this host the files of the cluster, with an owner that counts once a node has it.
func (h *handover) fetch(ctx context.Context) error {
	if err := h.step(ctx, "handover.step.number"); err != nil {
		return err
	}
	err := h.nodes.Raise(ctx)
	if err != nil {
		return err
	}
	if h.theirs, err = input.ReadOwner(h.there.Dir()); err != nil {
		return err
	}
	if err := h.step(ctx, "handover.step.files"); err != nil {
		return err
	}
	if err := copyHanded(h.there.Dir(), h.local.Dir()); err != nil {
		return err
	}
	if err := h.local.SaveConfig(ctx, h.text); err != nil {
		return err
	}
	if err := persist(ctx, h.local, input.KeptPKI, input.KeptAdminConf, input.KeptKnownHosts); err != nil {
		return err
	}
	if err := h.step(ctx, "handover.step.owner"); err != nil {
		return err
	}
	id := "" // that of an interrupted try
	if h.mine.From.ID == h.theirs.ID {
		id = h.mine.ID
	}
	h.mine = h.newOwner(id, node.OwnerDirectory, h.theirs)
	if err := writeOwner(ctx, h.local, h.mine); err != nil {
		return err
	}
	if err := h.step(ctx, "handover.step.unmark"); err != nil {
		return err
	}
	return unmark(h.local)
}

// removeThere removes the state of a cluster that is back from the meta cluster.
func (h *handover) removeThere(ctx context.Context) error {
	if err := h.step(ctx, "handover.step.release"); err != nil {
		return err
	}
	return h.meta.Remove(ctx, h.q.Cluster)
}

// ownText finds the deploy.yaml that this host has when the cluster is back: that of the request, or the one that was
// handed over. Logins, bundles and other files of this host are never taken from the meta cluster: its deploy.yaml may
// name any file of this host, and any machine to send a password to.
func (h *handover) ownText(theirs []byte, path string) (text []byte, file string, err error) {
	is, problems := config.Load(theirs, path)
	if is == nil {
		return nil, "", problems.Err()
	}
	var c *config.Cluster
	if file = h.q.File; file != "" {
		if c, problems, err = config.LoadFile(file); err == nil && c == nil {
			err = problems.Err()
		}
		if err == nil {
			text, err = os.ReadFile(file)
		}
		if err == nil {
			text, err = config.AbsolutePaths(text, file, filepath.Dir(file))
		}
		if err != nil {
			return nil, "", err
		}
		if want, got := named(is), named(c); c.Name != is.Name || want != got {
			return nil, "", h.fault("handover.nodes", "file", file, "nodes", want, "named", got)
		}
		return config.WithoutModeline(text), file, nil
	}
	text, file, err = h.local.Config()
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, "", event.NewFault(event.ClassFailed, "state.read", err)
	}
	if c, _ = config.Load(text, file); err == nil && c != nil && named(is) == named(c) {
		is.Source = c.Source
		if config.SameBesideNodes(is, c) {
			return text, file, nil
		}
	}
	return nil, "", h.fault("handover.needs-file")
}

// named lists the nodes of a cluster by name and address.
func named(c *config.Cluster) string {
	var out []string
	for _, n := range c.Nodes {
		out = append(out, n.Name+" "+n.IP.String())
	}
	slices.Sort(out)
	return strings.Join(out, ", ")
}

// send gives the meta cluster the files of the cluster, all but the owner.
func (h *handover) send(ctx context.Context, text []byte) error {
	if err := copyHanded(h.local.Dir(), h.there.Dir()); err != nil {
		return err
	}
	if file := h.cluster.Eggo.KnownHosts; file != "" {
		data, err := os.ReadFile(file)
		if err == nil {
			err = renameio.WriteFile(filepath.Join(h.there.Dir(), backup.KnownHosts), data, 0o600)
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return event.NewFault(event.ClassFailed, "state.read", err)
		}
	}
	if err := persist(ctx, h.there, input.KeptPKI, input.KeptAdminConf, input.KeptKnownHosts); err != nil {
		return err
	}
	return h.there.SaveConfig(ctx, text)
}

// copyHanded makes the files that go with a cluster those of another directory, each durable and with mode 0600.
// deploy.yaml and the owner are not among them; lines of known_hosts are added.
func copyHanded(from, to string) error {
	err := os.RemoveAll(filepath.Join(to, backup.PKI))
	if err == nil {
		err = filepath.WalkDir(filepath.Join(from, backup.PKI), func(path string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			rel, err := filepath.Rel(from, path)
			if err != nil {
				return err
			}
			return copyFileTo(path, filepath.Join(to, rel))
		})
	}
	for _, name := range []string{backup.AdminConf, input.FormerName, input.FormerDNSName} {
		if err == nil {
			err = copyFileTo(filepath.Join(from, name), filepath.Join(to, name))
		}
	}
	if err == nil {
		err = addKnown(filepath.Join(from, backup.KnownHosts), filepath.Join(to, backup.KnownHosts))
	}
	if err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// copyFileTo copies a file; one that is not there is removed there.
func copyFileTo(from, to string) error {
	data, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		if err := os.Remove(to); !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return nil
	}
	if err == nil {
		err = os.MkdirAll(filepath.Dir(to), 0o700)
	}
	if err != nil {
		return err
	}
	return renameio.WriteFile(to, data, 0o600, renameio.IgnoreUmask())
}

// addKnown adds the lines of a file of host keys to another one.
func addKnown(from, to string) error {
	add, err := os.ReadFile(from)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	have, err2 := os.ReadFile(to)
	if errors.Is(err2, fs.ErrNotExist) {
		err2 = nil
	}
	if err := errors.Join(err, err2); err != nil {
		return err
	}
	known := map[string]bool{}
	for line := range bytes.Lines(have) {
		known[string(bytes.TrimSpace(line))] = true
	}
	for line := range bytes.Lines(add) {
		if !known[string(bytes.TrimSpace(line))] {
			have = append(have, line...)
		}
	}
	return renameio.WriteFile(to, have, 0o600, renameio.IgnoreUmask())
}
