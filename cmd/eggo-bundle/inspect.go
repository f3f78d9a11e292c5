package main

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/eggo-k8s/eggo/internal/bundle"
	"github.com/eggo-k8s/eggo/internal/output/cli"
	"github.com/eggo-k8s/eggo/internal/output/report"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

func newInspect(env *environment) *cobra.Command {
	p := env.P
	cmd := &cobra.Command{Use: "inspect " + p.T("cli.arg.file"), Short: p.T("bundle.cli.inspect.short"),
		Long: p.T("bundle.cli.inspect.long"), Args: cli.Exactly(p.T("cli.arg.file"))}
	tree := cmd.Flags().Bool("tree", false, p.T("bundle.cli.flag.tree"))
	digests := cmd.Flags().Bool("digests", false, p.T("bundle.cli.flag.digests"))
	output := outputFlag(cmd, env)
	cmd.RunE = func(_ *cobra.Command, args []string) error {
		asJSON, err := output()
		if err != nil {
			return err
		}
		a, err := bundle.Open(args[0])
		if err != nil {
			return err
		}
		parts := a.Parts()
		switch {
		case asJSON:
			m := a.Manifest()
			o := fields{"file": a.Path(), "size": a.Size(), "id": a.ID(), "manifest": m, "kinds": kinds(m),
				"shared_layers": shared(m)}
			if out := m.Outside(); len(out) > 0 {
				o["outside"] = out
			}
			if len(parts) > 0 {
				o["parts"] = parts
			}
			return env.emit("bundle", o)
		case *tree:
			head(env, a, parts)
			printTree(env, a.Manifest())
			printOutside(env, a.Manifest())
		default:
			inspect(env, a, parts, *digests)
			printOutside(env, a.Manifest())
		}
		if !asJSON {
			if err := env.adopted(args[0], a.Manifest().Adopted); err != nil {
				return err
			}
		}
		return env.say("\n" + env.P.T("bundle.cli.unverified"))
	}
	return cmd
}

// kindOf is what a kind of members comes to.
type kindOf struct {
	Kind    bundle.Kind `json:"kind"`
	Count   int         `json:"count"`
	Bytes   int64       `json:"bytes"`
	Carried int64       `json:"carried"` // of them in this file; a difference carries less
}

func kinds(m *bundle.Manifest) []kindOf {
	var out []kindOf
	for _, e := range m.Members {
		i := slices.IndexFunc(out, func(k kindOf) bool { return k.Kind == e.Kind })
		if i < 0 {
			i = len(out)
			out = append(out, kindOf{Kind: e.Kind})
		}
		k := &out[i]
		k.Count++
		k.Bytes += e.Size
		k.Carried += carried(m, e)
	}
	return out
}

// carried is how much of a member is in the file.
func carried(m *bundle.Manifest, e bundle.Member) int64 {
	switch {
	case e.From != "":
		return 0
	case m.Base != nil && e.Kind == bundle.Images:
		return e.Carried
	}
	return e.Size
}

// shared counts, for each image, its layers that another image of the bundle has too.
func shared(m *bundle.Manifest) map[string]int {
	in := map[string]map[string]bool{} // layer → digests of images
	for _, im := range m.Images {
		for _, l := range im.Layers {
			if in[l] == nil {
				in[l] = map[string]bool{}
			}
			in[l][im.Digest] = true
		}
	}
	out := map[string]int{}
	for _, im := range m.Images {
		n := 0
		for _, l := range im.Layers {
			if len(in[l]) > 1 {
				n++
			}
		}
		out[im.Name] = n
	}
	return out
}

// head says what the bundle is, what it is missing, and in how many parts it comes.
func head(env *environment, a *bundle.Archive, parts []bundle.Part) {
	p, m, w := env.P, a.Manifest(), env.Stdout
	fmt.Fprintln(w, p.T("bundle.cli.head", "name", m.Name, "arch", m.Arch, "kubernetes", m.Kubernetes, "os",
		osName(m.OS), "format", fmt.Sprint(m.Format),
		"size", report.Amount(a.Size()), "id", a.ID()))
	if m.Base != nil {
		fmt.Fprintln(w, p.T("bundle.cli.needs-base", "name", m.Base.Name, "arch", m.Base.Arch, "base", m.Base.ID))
	}
	if len(parts) > 0 {
		rows := [][]string{{p.T("bundle.cli.col.part"), ">" + p.T("bundle.cli.col.size")}}
		for _, x := range parts {
			rows = append(rows, []string{path.Base(x.File), report.Amount(x.Size)})
		}
		env.table(w, p.T("bundle.cli.parts", "count", fmt.Sprint(len(parts))), rows)
	}
}

func inspect(env *environment, a *bundle.Archive, parts []bundle.Part, digests bool) {
	p, m, w := env.P, a.Manifest(), env.Stdout
	head(env, a, parts)
	difference := m.Base != nil

	rows := [][]string{{p.T("bundle.cli.col.kind"), ">" + p.T("bundle.cli.col.count"),
		">" + p.T("bundle.cli.col.size")}}
	if difference {
		rows[0] = append(rows[0], ">"+p.T("bundle.cli.col.carried"))
	}
	for _, k := range kinds(m) {
		r := []string{kindName(env, k.Kind), fmt.Sprint(k.Count), report.Amount(k.Bytes)}
		if difference {
			r = append(r, report.Amount(k.Carried))
		}
		rows = append(rows, r)
	}
	env.table(w, p.T("bundle.cli.kinds"), rows)

	rows = [][]string{{p.T("bundle.cli.col.kind"), p.T("bundle.cli.col.path"), p.T("bundle.cli.col.ver"),
		">" + p.T("bundle.cli.col.size"),
		p.T("bundle.cli.col.dst"), p.T("bundle.cli.col.roles")}}
	for _, e := range m.Members {
		where := report.Amount(e.Size)
		if e.From != "" {
			where = p.T("bundle.cli.in-base")
		}
		rows = append(rows, []string{string(e.Kind), e.Path, e.Version, where, e.Dst, roles(e.Roles)})
	}
	env.table(w, p.T("bundle.cli.members"), rows)

	rows = [][]string{{p.T("bundle.cli.col.name"), ">" + p.T("bundle.cli.col.size"), ">" + p.T("bundle.cli.col.layers"),
		">" + p.T("bundle.cli.col.shared"),
		p.T("bundle.cli.col.digest"), p.T("bundle.cli.col.roles")}}
	rows = append(rows, imageRows(m, digests)...)
	env.table(w, p.T("bundle.cli.images"), rows)

	rows = [][]string{{p.T("bundle.cli.col.name"), p.T("bundle.cli.col.roles")}}
	for _, x := range m.Install {
		rows = append(rows, []string{x.Name, roles(x.Roles)})
	}
	env.table(w, p.T("bundle.cli.packages"), rows)
}

// printOutside names what the bundle would place where no file may come from outside: why it is refused.
func printOutside(env *environment, m *bundle.Manifest) {
	p := env.P
	list := m.Outside()
	if len(list) == 0 {
		return
	}
	rows := [][]string{{p.T("bundle.cli.col.path"), p.T("bundle.cli.col.place"), p.T("bundle.cli.col.why")}}
	for _, o := range list {
		rows = append(rows, []string{o.Member, o.Place, p.T("bundle.cli.outside." + o.Why)})
	}
	env.table(env.Stdout, p.T("bundle.cli.outside", "count", fmt.Sprint(len(list))), rows)
}

// shortDigest is how much of a digest tells two images apart: "sha256:" and twelve digits.
const shortDigest = len("sha256:") + 12

// imageRows has a row for each image. It is in the bundle under its digests too, for pods that pin one; those names are
// shown when digests are asked for, below the first.
func imageRows(m *bundle.Manifest, digests bool) [][]string {
	same := shared(m)
	var rows [][]string
	for _, g := range groupImages(m) {
		digest := g[0].Digest
		if !digests && len(digest) > shortDigest {
			digest = digest[:shortDigest]
		}
		rows = append(rows, []string{g[0].Name, report.Amount(g[0].Size), fmt.Sprint(len(g[0].Layers)),
			fmt.Sprint(same[g[0].Name]), digest, roles(g[0].Roles)})
		for _, also := range g[1:] {
			if digests || !strings.Contains(also.Name, "@") {
				rows = append(rows, []string{"  " + also.Name})
			}
		}
	}
	return rows
}

// groupImages puts the names of one image together, those with a tag first.
func groupImages(m *bundle.Manifest) [][]bundle.Image {
	var out [][]bundle.Image
	at := map[string]int{}
	for _, im := range m.Images {
		i, ok := at[im.Digest]
		if !ok {
			i = len(out)
			at[im.Digest] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], im)
	}
	for _, g := range out {
		slices.SortStableFunc(g, func(a, b bundle.Image) int {
			return cmp.Compare(strings.Count(a.Name, "@"), strings.Count(b.Name, "@"))
		})
	}
	return out
}

// kindName is a kind for people, in the words of the comparison where it has them.
func kindName(env *environment, k bundle.Kind) string {
	for _, prefix := range []string{"bundle.cli.kind.", "diff.kind."} {
		if env.P.Has(prefix + string(k)) {
			return env.P.T(prefix + string(k))
		}
	}
	return string(k)
}

func roles(rs []bundle.Role) string {
	var s []string
	for _, r := range rs {
		s = append(s, string(r))
	}
	return strings.Join(s, ",")
}

// printTree shows the archive as its directories, images within images.tar.
func printTree(env *environment, m *bundle.Manifest) {
	type node struct {
		name string
		size int64
		kids []*node
		leaf bool
	}
	root := &node{}
	child := func(n *node, name string) *node {
		if i := slices.IndexFunc(n.kids, func(k *node) bool { return k.name == name && !k.leaf }); i >= 0 {
			return n.kids[i]
		}
		k := &node{name: name}
		n.kids = append(n.kids, k)
		return k
	}
	for _, e := range m.Members {
		at := root
		steps := strings.Split(e.Path, "/")
		for _, s := range steps[:len(steps)-1] {
			at = child(at, s+"/")
			at.size += e.Size
		}
		leaf := &node{name: steps[len(steps)-1], size: e.Size, leaf: true}
		if e.Kind == bundle.Images {
			for _, g := range groupImages(m) {
				leaf.kids = append(leaf.kids, &node{name: g[0].Name, size: g[0].Size, leaf: true})
			}
		}
		at.kids = append(at.kids, leaf)
	}
	var show func(n *node, indent string)
	show = func(n *node, indent string) {
		for i, k := range n.kids {
			branch, below := "├─ ", "│  "
			if i == len(n.kids)-1 {
				branch, below = "└─ ", "   "
			}
			fmt.Fprintf(env.Stdout, "%s%s%s  %s\n", indent, branch, event.Clean(k.name), report.Amount(k.size))
			show(k, indent+below)
		}
	}
	fmt.Fprintln(env.Stdout)
	show(root, "  ")
}
