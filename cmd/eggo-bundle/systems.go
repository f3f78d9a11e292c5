package main

import (
	"maps"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/assets"
	"github.com/eggo-k8s/eggo/internal/bundle/spec"
)

// builtin is a spec in this program.
type builtin struct {
	system string
	*spec.Spec
}

// builtins are the specs of the systems that --os takes.
func builtins() ([]builtin, error) {
	var out []builtin
	for _, system := range assets.Systems() {
		text, err := assets.BundleSpec(system)
		if err != nil {
			return nil, err
		}
		s, err := spec.Parse(text)
		if err != nil {
			return nil, err
		}
		out = append(out, builtin{system, s})
	}
	return out, nil
}

// systemsByVersion says for which systems there is which Kubernetes: "v1.34.2: centos-9, debian-12". It is part of the
// help, which each start of the program makes: so the specs are not parsed, only the line with the version is read.
func systemsByVersion() string {
	versions := map[string][]string{}
	for _, system := range assets.Systems() {
		text, _ := assets.BundleSpec(system) // it is one of those that there are
		v := versionLine(string(text))
		versions[v] = append(versions[v], system)
	}
	var out []string
	for _, v := range slices.Sorted(maps.Keys(versions)) {
		out = append(out, v+": "+strings.Join(versions[v], ", "))
	}
	return strings.Join(out, "; ")
}

// versionLine is what a spec has for kubernetes.
func versionLine(text string) string {
	for line := range strings.Lines(text) {
		if v, ok := strings.CutPrefix(line, "kubernetes:"); ok {
			return strings.TrimSpace(v)
		}
	}
	return ""
}

// osFlag is the sentence of --os.
func osFlag(env *environment) string {
	return env.P.T("bundle.cli.flag.os", "systems", systemsByVersion())
}

// listSystems prints a row for each value of --os.
func listSystems(env *environment) error {
	list, err := builtins()
	if err != nil {
		return err
	}
	p := env.P
	rows := [][]string{{p.T("bundle.cli.col.os"), p.T("bundle.cli.col.kubernetes"), p.T("bundle.cli.col.runtime")}}
	for _, b := range list {
		rows = append(rows, []string{b.system, b.Kubernetes, b.Runtime})
	}
	env.table(env.Stdout, "", rows)
	return nil
}
