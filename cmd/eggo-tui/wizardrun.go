package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/google/renameio/v2"
	"go.yaml.in/yaml/v3"

	"github.com/eggo-k8s/eggo/internal/backend"
	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/draft"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/operation/request"
	"github.com/eggo-k8s/eggo/internal/operation/store"
	"github.com/eggo-k8s/eggo/internal/ui/frame"
	"github.com/eggo-k8s/eggo/internal/ui/pages"
	"github.com/eggo-k8s/eggo/internal/ui/wizard"
)

// newCluster is the wizard; what it has written is installed in a process of its own.
func (d *desk) newCluster(ctx context.Context, deps *pages.Deps) frame.Page {
	w := newDraftDesk(d.env, d.state)
	svc := w.services()
	svc.Run = func(file string, draft config.Draft) frame.Page {
		return pages.NewLaunch(knowing(deps, draft), backend.Start{
			Request: request.Deploy{Common: request.OfFile(w.path(file))},
		})
	}
	return wizard.New(ctx, svc)
}

// addNodes is the wizard's table over the cluster's own deploy.yaml, for machines that join it.
func (d *desk) addNodes(ctx context.Context, deps *pages.Deps, c backend.Cluster) frame.Page {
	data, err := os.ReadFile(c.File)
	cluster, problems := config.ReadDraft(data, c.File)
	if err != nil || problems.HasErrors() {
		return pages.NewAdd(deps, c) // join itself says what is wrong
	}
	w := newDraftDesk(d.env, d.state)
	w.kept = store.Dir{Root: w.root}.JoinDraft(c.Name)
	svc := w.services()
	known := map[string]bool{}
	for _, m := range cluster.Machines {
		known[draft.MachineKey(m)] = true
	}
	fresh := func(of config.Draft) []config.Machine {
		return slices.DeleteFunc(slices.Clone(of.Machines), func(m config.Machine) bool {
			return known[draft.MachineKey(m)]
		})
	}
	list := filepath.Join(filepath.Dir(c.File), "join.yaml")
	svc.Write = func(_ string, of config.Draft) error {
		if err := writeJoin(list, fresh(of)); err != nil {
			return err
		}
		return w.trustIn(c.Name)
	}
	svc.Run = func(_ string, of config.Draft) frame.Page {
		return pages.NewLaunch(knowing(deps, of), backend.Start{Request: joining(c.Name, list, fresh(of))})
	}
	return wizard.NewAdd(ctx, svc, cluster, c.File)
}

// joining is the request for machines to join. Whoever continues it from the command line names the list.
func joining(cluster, list string, machines []config.Machine) request.Join {
	data, err := joinList(machines)
	var nodes []config.Node
	if err == nil {
		nodes, _ = config.LoadNodes(data, list) // where none are in it, writeJoin has said why
	}
	return request.Join{Common: request.OfCluster(cluster), Nodes: nodes, List: list}
}

// writeJoin writes the lists that join reads.
func writeJoin(file string, machines []config.Machine) error {
	data, err := joinList(machines)
	if err == nil {
		_, err = config.LoadNodes(data, file)
	}
	if err != nil {
		return err
	}
	if err := renameio.WriteFile(file, data, 0o600, renameio.IgnoreUmask()); err != nil {
		return event.NewFault(event.ClassFailed, "state.write", err)
	}
	return nil
}

// joinList has the machines as lists by role.
func joinList(machines []config.Machine) ([]byte, error) {
	type entry struct {
		Name string `yaml:"name,omitempty"`
		IP   string `yaml:"ip"`
		Port int    `yaml:"port,omitempty"`
		Arch string `yaml:"arch,omitempty"`
	}
	lists := map[string][]entry{}
	for _, m := range machines {
		x := entry{Name: m.Name, IP: m.IP, Arch: m.Arch}
		x.Port, _ = strconv.Atoi(m.Port) // "" is left out; it was judged as it was typed
		for role, key := range map[bundle.Role]string{bundle.ControlPlane: "masters", bundle.Worker: "nodes", bundle.Etcd: "etcds"} {
			if m.Has(role) {
				lists[key] = append(lists[key], x)
			}
		}
	}
	var b bytes.Buffer
	err := yaml.NewEncoder(&b).Encode(lists)
	return b.Bytes(), err
}

// knowing are the pages' services with passwords that a person has typed already, so that they are not asked for again.
func knowing(deps *pages.Deps, draft config.Draft) *pages.Deps {
	own := *deps
	launch := deps.S.Launch
	own.S.Launch = func(ctx context.Context, st backend.Start, ask backend.Asker) (backend.Ref, error) {
		return launch(ctx, st, knower{ask, typedSecrets(draft)})
	}
	return &own
}

type knower struct {
	backend.Asker
	known map[string]string
}

// Secret implements backend.Asker.
func (k knower) Secret(ctx context.Context, what event.Msg) (string, error) {
	if v := k.known[what.Key]; v != "" {
		return v, nil
	}
	return k.Asker.Secret(ctx, what)
}
