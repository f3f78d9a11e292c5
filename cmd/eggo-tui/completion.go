package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/operation"
	"github.com/eggo-k8s/eggo/internal/operation/host"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// nothing is what cannot be known beforehand: addresses, names that are new, numbers.
func nothing() cobra.CompletionFunc { return cobra.NoFileCompletions }

// completions is what a shell completes after each flag and verb.
func completions(env *environment) cli.Values {
	k := &known{env}
	return cli.Values{
		"--id": cli.One(k.clusters), "--lang": cli.Words("en", "zh"),
		"--state-dir": cli.Dirs(), "--file": cli.Files("yaml", "yml"),
		"--output": cli.Words(cli.Text, cli.JSON), "--host-keys": cli.Words("ask", "strict", "accept-new"),
		"--on-failure": cli.Words("ask", "abort", "skip", "undo", "retry=1", "retry=3"),
		"--log":        cli.Files(), "--limit": cli.List(k.limits), "--signers": cli.Files(),
		"--replay": cli.Words("1", "8", "64"),
		"--type":   cli.List(cli.Always("master", "worker", "etcd")), "--arch": cli.Words("amd64", "arm64"),
		"--name": nothing(), "--port": nothing(), "--take-over": nothing(),
		"--drain-timeout": nothing(), "--label": nothing(),
		"--taint":  nothing(),
		"--bundle": cli.Files("gz"), "--batch": nothing(), "--soak": nothing(), "--probe": nothing(),
		"--window":  nothing(),
		"--prehook": cli.Files(), "--posthook": cli.Files(),
		"--cluster-prehook": cli.Files(), "--cluster-posthook": cli.Files(),

		"attach": cli.First(k.runs), "logs": cli.First(k.runs), "support": cli.First(k.runs),
		"resume":      cli.First(k.runs),
		"logs --node": cli.One(k.runNodes), "logs --step": cli.One(k.runSteps), "support --out": cli.Files(),
		"kubeconfig --out": cli.Files(),
		"cleanup --node":   cli.List(k.nodes), "delete": cli.Several(k.nodes), "plan delete": cli.Several(k.nodes),
		"demo --speed":        cli.Words("1", "8", "64"),
		"etcd snapshot --out": cli.Files(), "etcd restore": cli.Files(), "plan etcd restore": cli.Files(),
		"--passphrase-from": cli.Words("prompt", "env:", "file:"), "--identity": cli.Files(), "--recipient": nothing(),
		"--dir": cli.Dirs(), "--keep": cli.Words("7", "14", "30"),
		"backup verify": cli.Files("age"), "backup restore": cli.Files("age"), "backup keygen": cli.Files(),
		"handover --kubeconfig": cli.Files(), "handover --context": nothing(), "handover --namespace": nothing(),
		"import": nothing(), "import --id": nothing(), "--user": nothing(), "--key": cli.Files(),
		"--password-from":      cli.Words("prompt", "env:", "file:"),
		"--sudo-password-from": cli.Words("prompt", "env:", "file:"), "--from-eggo": cli.Dirs(),
		"--amd64-bundle": cli.Files("gz"), "--arm64-bundle": cli.Files("gz"),
		"signers add": cli.Files(), "signers add --identity": nothing(), "signers remove": cli.First(k.signers),

		"template --user": nothing(), "template --password": nothing(),
		"template --out":           cli.Files("yaml", "yml"),
		"template --password-file": cli.Files(), "template --private-key": cli.Files(),
		"template --masters": nothing(), "template --nodes": nothing(), "template --workers": nothing(),
		"template --etcds": nothing(), "template --loadbalancer": nothing(), "template --loadbalance": nothing(),
		"template --amd64-bundle": cli.Files("gz"), "template --arm64-bundle": cli.Files("gz"),
	}
}

// known is what this control host knows, as words to complete. What cannot be read it does not know; a shell that
// completes a word is no place for errors.
type known struct{ env *environment }

// host is that of --state-dir.
func (k *known) host(cmd *cobra.Command) *host.Host {
	return k.env.host()
}

// value is what was given to a flag, "" where there is no such flag.
func value(cmd *cobra.Command, flag string) string {
	if f := cmd.Flag(flag); f != nil {
		return f.Value.String()
	}
	return ""
}

func (k *known) clusters(cmd *cobra.Command, _ []string) []string {
	return k.host(cmd).KnownClusters(cmd.Context())
}

func (k *known) runs(cmd *cobra.Command, _ []string) []string {
	return k.host(cmd).KnownRuns(cmd.Context(), value(cmd, "id"))
}

func (k *known) plan(cmd *cobra.Command, args []string) event.PlanMade {
	return k.host(cmd).KnownPlan(cmd.Context(), value(cmd, "id"), strings.Join(args, ""))
}

func (k *known) runNodes(cmd *cobra.Command, args []string) []string {
	var out []string
	for _, h := range k.plan(cmd, args).Hosts {
		out = append(out, h.Name)
	}
	return out
}

func (k *known) runSteps(cmd *cobra.Command, args []string) []string {
	var out []string
	for _, s := range k.plan(cmd, args).Steps {
		out = append(out, s.ID)
	}
	return out
}

// members are the nodes of the deploy.yaml that the flags name; without, those of all clusters here.
func (k *known) members(cmd *cobra.Command) []config.Node {
	file := ""
	if f := cmd.Flag("file"); f != nil && f.Changed && cmd.Flag("type") == nil { // -f of join names the new ones
		file = f.Value.String()
	}
	return k.host(cmd).KnownNodes(cmd.Context(), value(cmd, "id"), file)
}

func (k *known) nodes(cmd *cobra.Command, _ []string) []string {
	var out []string
	for _, n := range k.members(cmd) {
		if !slices.Contains(out, n.Name) {
			out = append(out, n.Name)
		}
	}
	return out
}

// limits are the nodes, and the roles that some of them have.
func (k *known) limits(cmd *cobra.Command, args []string) []string {
	out := k.nodes(cmd, args)
	for _, r := range bundle.AllRoles() {
		if slices.ContainsFunc(k.members(cmd), func(n config.Node) bool { return n.Has(r) }) {
			out = append(out, operation.RolePrefix+string(r))
		}
	}
	return out
}

func (k *known) signers(cmd *cobra.Command, _ []string) []string { return k.host(cmd).KnownSigners() }
