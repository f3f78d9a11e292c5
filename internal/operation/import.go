package operation

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/google/renameio/v2"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/phases"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/pki"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// importName is the deploy.yaml of a cluster that is being imported, until preflight has passed; importMark is there as
// long as all that the directory has of the cluster comes from the import.
const (
	importName = "import.yaml"
	importMark = "importing"
)

// ReadImport reads a cluster that kubeadm has made over one of its control planes, puts what the control host needs of
// it into the state directory, and gives the request of the run that does the rest. Nodes are only read. found gets
// what was found; with an error among it nothing is written here either. Who asks again gets the same request.
func ReadImport(
	ctx context.Context, q request.ImportRead, d Deps, found func([]event.Finding),
) (request.Request, error) {
	if q.Address.Is6() {
		return nil, event.NewFault(event.ClassUsage, "import.address", nil, "value", q.Address.String())
	}
	p, first, err := readOver(ctx, q, d)
	if err != nil {
		return nil, err
	}
	defer p.close()
	connect := func(ctx context.Context, n config.Node) (node.Host, error) { return p.conns.Dial(ctx, n) }
	is, err := phases.ReadForeign(ctx, phases.Env{Cluster: p.cluster, Connect: connect, Emit: p.emit,
		Now: d.clock().Now, StateDir: p.files.Dir()}, first)
	if err != nil {
		return nil, err
	}
	taken := is.Take(phases.ForeignWanted{Name: q.Cluster, User: p.cluster.SSH.User, Key: p.cluster.SSH.PrivateKeyPath,
		PasswordFrom: q.Password, SudoPW: q.Sudo, Port: q.Port, Bundles: p.cluster.Source.Bundles})
	found(taken.Findings)
	if taken.Refused() {
		return nil, event.NewFault(event.ClassPreflight, "import.refused", nil)
	}
	next := request.Import{Common: request.Common{HostKeys: q.HostKeys}, Node: q.Address.String(), Login: q.Login,
		Port: q.Port, Password: q.Password, Sudo: q.Sudo}
	known, err := os.ReadFile(filepath.Join(p.files.Dir(), "known_hosts"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, event.NewFault(event.ClassFailed, "state.read", err)
	}
	next.Source, err = placeImport(ctx, d,
		imported{q.Cluster, phases.ForeignPKI, taken.Text, taken.PKI, known})
	if err == nil && next.Source.Cluster != "" {
		again := event.NewFault(event.ClassPreflight, "import.again", nil, "file",
			filepath.Join(d.Store.Where(), q.Cluster, "deploy.yaml"))
		found([]event.Finding{{Severity: event.Warning, Fault: *again}})
	}
	return next, err
}

// readOver prepares to reach the control plane: nothing is made.
func readOver(ctx context.Context, q request.ImportRead, d Deps) (*prepared, config.Node, error) {
	first := config.Node{Name: q.Address.String(), IP: q.Address, Port: q.Port, Arch: "amd64",
		Roles: []bundle.Role{bundle.ControlPlane, bundle.Etcd}}
	draft := config.Draft{
		Machines: []config.Machine{{Name: "first", IP: q.Address.String(), Roles: first.Roles}},
	}.WithValues(map[string]string{"cluster-id": q.Cluster, "username": q.Login.User, "private-key-path": q.Login.Key,
		"eggo.password-from": q.Password, "eggo.sudo-password-from": q.Sudo, "eggo.driver": config.DriverKubeadm})
	root := d.Store.Where()
	for arch, key := range map[string]string{"amd64": "package-src.x86src", "arm64": "package-src.armsrc"} {
		// Without a bundle it is clear where one is looked for: no run needs it before a node is installed.
		draft.Set(key, filepath.Join(root, q.Cluster, "bundle-"+arch+".tar.gz"))
		if b := q.Bundles[arch]; b != "" {
			draft.Set(key, b)
		}
	}
	c, problems, err := draft.Cluster(filepath.Join(root, q.Cluster, importName))
	if problems.HasErrors() && d.Problems != nil {
		d.Problems(importName, problems)
	}
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, first, err
	}
	c.Nodes = []config.Node{first}
	p := &prepared{deps: d, request: request.Import{Common: request.Common{HostKeys: q.HostKeys}},
		source: &source{cluster: c, file: filepath.Join(root, q.Cluster, importName), tell: d.Problems}}
	if p.files, err = d.Store.Copy(ctx, q.Cluster); err != nil {
		return nil, first, err
	}
	p.also = []string{filepath.Join(p.files.Journal().Path(), "known_hosts")}
	if err := p.reach(ctx); err != nil {
		p.close()
		return nil, first, err
	}
	return p, first, nil
}

// ReadEggo takes over the deploy.yaml and the CAs of a cluster that the original eggo has made, from its directory, and
// gives the request of the run that does the rest.
func ReadEggo(ctx context.Context, q request.ImportEggo, d Deps) (request.Request, error) {
	file := filepath.Join(q.Dir, "deploy.yaml")
	s, err := loadSource(ctx, request.Source{File: file}, d)
	if err != nil {
		return nil, err
	}
	text, err := s.absolute()
	if err != nil {
		return nil, err
	}
	files, from := map[string][]byte{}, filepath.Join(q.Dir, "pki")
	for _, name := range phases.ForeignSecrets() {
		data, err := readRegular(filepath.Join(from, filepath.FromSlash(name)))
		if errors.Is(err, fs.ErrNotExist) {
			return nil, event.NewFault(event.ClassPreflight, "import.no-key", nil, "file", filepath.Join(from, name))
		}
		if err != nil {
			return nil, event.NewFault(event.ClassPreflight, "pki.read", err, "file", filepath.Join(from, name))
		}
		files[name] = data
	}
	const encryption = "encryption-config.yaml"
	for _, dir := range []string{from, q.Dir} {
		if data, err := readRegular(filepath.Join(dir, encryption)); err == nil {
			files[encryption] = data
		}
	}
	if files[encryption] == nil {
		return nil, event.NewFault(event.ClassPreflight, "import.no-key", nil, "file", filepath.Join(q.Dir, encryption))
	}
	text, problems, err := config.SetImported(text, file)
	if err == nil {
		err = problems.Err()
	}
	if err != nil {
		return nil, err
	}
	next := request.Import{Common: request.Common{HostKeys: q.HostKeys}, EggoDir: q.Dir}
	next.Source, err = placeImport(ctx, d, imported{s.cluster.Name, from, text, files, nil})
	return next, err
}

// readRegular reads a file, and nothing that waits for a writer.
func readRegular(path string) ([]byte, error) {
	i, err := os.Stat(path)
	if err == nil && !i.Mode().IsRegular() {
		err = &fs.PathError{Op: "read", Path: path, Err: errors.New("not a regular file")}
	}
	if err != nil {
		return nil, err
	}
	return os.ReadFile(path)
}

// imported contains the facts about a cluster that another program installed.
type imported struct {
	name, from string
	text       []byte            // deploy.yaml
	secrets    map[string][]byte // of its CAs, by file name
	known      []byte            // host keys; nil: none
}

// placeImport puts what was read into the cluster's directory. Its deploy.yaml becomes the cluster's own when preflight
// has passed. A cluster that is there already is imported again if it has the same CAs.
func placeImport(ctx context.Context, d Deps, i imported) (source request.Source, err error) {
	if c, problems := config.Load(i.text, importName); c == nil {
		if d.Problems != nil {
			d.Problems(importName, problems)
		}
		return source, problems.Err()
	}
	if err := pki.CheckTakeOver(i.from, i.secrets, d.clock().Now()); err != nil {
		return source, err
	}
	files, err := d.Store.Open(ctx, i.name)
	if err != nil {
		return source, err
	}
	defer files.Close()
	err = withLock(ctx, d, files, i.name, string(request.VerbImport), func(ctx context.Context) (err error) {
		if source, err = i.place(ctx, d, files); err != nil && !lockWasLost(ctx) {
			err = errors.Join(err, dropImport(files))
		}
		return err
	})
	return source, err
}

// place does the work of placeImport under the lock of the cluster.
func (i imported) place(ctx context.Context, d Deps, files Files) (source request.Source, err error) {
	if err := markImport(files.Dir()); err != nil {
		return source, err
	}
	err = pki.TakeOver(filepath.Join(files.Dir(), "pki"), i.secrets, d.clock().Now())
	if f := event.AsFault(err); f != nil && f.Code == "pki.external-differs" {
		if ca, _ := os.ReadFile(filepath.Join(files.Dir(), "pki", "ca.crt")); bytes.Equal(ca, i.secrets["ca.crt"]) {
			return source, event.NewFault(event.ClassPreflight, "import.key-differs", nil, "cluster", i.name, "dir",
				files.Dir(), "file", f.Args["file"], "from", i.from)
		}
		return source, event.NewFault(event.ClassUsage, "import.known", nil, "cluster", i.name, "dir", files.Dir())
	}
	if err != nil {
		return source, err
	}
	if err := files.Persist(ctx, phases.KeptPKI); err != nil {
		return source, err
	}
	if _, _, err := files.Config(); err == nil { // an import that is repeated
		return request.Source{Cluster: i.name}, nil
	}
	for file, data := range map[string][]byte{"known_hosts": i.known, importName: i.text} {
		if data == nil {
			continue
		}
		path := filepath.Join(files.Dir(), file)
		if err := renameio.WriteFile(path, data, 0o600, renameio.IgnoreUmask()); err != nil {
			return source, event.NewFault(event.ClassFailed, "state.write", err)
		}
	}
	return request.Source{File: filepath.Join(files.Dir(), importName)}, files.Persist(ctx, phases.KeptKnownHosts)
}

// markImport notes that what the directory has of the cluster comes from an import, unless something is there already.
func markImport(dir string) error {
	for _, name := range []string{"pki", "deploy.yaml", importMark} {
		if _, err := os.Lstat(filepath.Join(dir, name)); !errors.Is(err, fs.ErrNotExist) {
			return nil //nolint:nilerr // what cannot be looked at is there
		}
	}
	if err := os.WriteFile(filepath.Join(dir, importMark), nil, 0o600); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// dropImport removes what an import that came to nothing has put into the cluster's directory, the keys of CAs above
// all; the same command makes it again. So does it make the directory, when nothing else is in it. What is not of an
// import stays, and so does all of a cluster with a deploy.yaml of its own: a run that was killed leaves the mark.
func dropImport(files Files) error {
	dir := files.Dir()
	if _, err := os.Lstat(filepath.Join(dir, importMark)); err != nil {
		return nil //nolint:nilerr // there is none
	}
	if _, _, err := files.Config(); !errors.Is(err, fs.ErrNotExist) {
		return nil //nolint:nilerr // it has one, or may have
	}
	var all []error
	for _, name := range []string{"pki", "admin.conf", "known_hosts", importName, importMark} {
		all = append(all, os.RemoveAll(filepath.Join(dir, name)))
	}
	if bare(dir) {
		all = append(all, os.RemoveAll(dir))
	}
	if err := errors.Join(all...); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// bare says whether a cluster's directory has nothing but what is made when it is opened.
func bare(dir string) bool {
	list, err := os.ReadDir(dir)
	runs, err2 := os.ReadDir(filepath.Join(dir, "runs"))
	return err == nil && err2 == nil && len(runs) == 0 && !slices.ContainsFunc(list, func(e fs.DirEntry) bool {
		return !slices.Contains([]string{"runs", "format", "lock", "lock.json"}, e.Name())
	})
}

// DropImport is dropImport when the run of an import could not begin, or has ended. While somebody works on the
// cluster, or when it has a deploy.yaml of its own, nothing is removed.
func DropImport(ctx context.Context, d Deps, q request.Request) error {
	from := q.Base().Source
	name := from.Cluster
	if name == "" {
		name = filepath.Base(filepath.Dir(from.File))
	}
	files, err := d.Store.Read(ctx, name)
	if err != nil {
		return err
	}
	defer files.Close()
	if _, err := os.Lstat(filepath.Join(files.Dir(), importMark)); err != nil {
		return nil //nolint:nilerr // there is none
	}
	err = withLock(ctx, d, files, name, string(request.VerbImport), func(context.Context) error {
		return dropImport(files)
	})
	if f := event.AsFault(err); f != nil && f.Class == event.ClassLocked {
		return nil // another process works on the cluster
	}
	return err
}

// imports takes over the cluster of the operation's deploy.yaml.
func (p *prepared) imports() *work {
	return &work{plan: phases.Import, tidy: func() {
		if !p.kept { // it was refused: the same command reads all of it again
			_ = dropImport(p.files)
			return
		}
		for _, name := range []string{importName, importMark} { // what is left of it is only in the way
			_ = os.Remove(filepath.Join(p.files.Dir(), name))
		}
	}, next: func() []event.Msg {
		name := p.cluster.Name
		return []event.Msg{
			event.M("next.imported", "file", p.own),
			event.Calling("next.imported-status", event.Call{Verb: "status", Cluster: name}),
		}
	}}
}
