package addon

import (
	"slices"
	"strings"
	"text/template/parse"

	chart "helm.sh/helm/v4/pkg/chart/v2"
)

// elsewhen is what "now" becomes in one rendering of several, so that a chart which writes the time is found out within
// the same second.
const elsewhen = `(toDate "2006-01-02 15:04:05" "1999-12-31 23:59:58")`

// moveClock replaces the function now in a chart's templates and those of the charts within it.
func moveClock(c *chart.Chart) {
	for _, t := range c.Templates {
		t.Data = []byte(withoutNow(t.Name, string(t.Data)))
	}
	for _, d := range c.Dependencies() {
		moveClock(d)
	}
}

// withoutNow replaces each call of now in a template; one that cannot be parsed is left as it is, rendering it says
// why.
func withoutNow(name, text string) string {
	t := parse.New(name)
	t.Mode = parse.SkipFuncCheck
	set := map[string]*parse.Tree{}
	if _, err := t.Parse(text, "", "", set); err != nil {
		return text
	}
	var places []int
	for _, tree := range set {
		if tree.Root != nil {
			places = append(places, nows(tree.Root)...)
		}
	}
	slices.Sort(places)
	var b strings.Builder
	from := 0
	for _, p := range slices.Compact(places) {
		if p < from || !strings.HasPrefix(text[p:], "now") {
			continue
		}
		b.WriteString(text[from:p])
		b.WriteString(elsewhen)
		from = p + len("now")
	}
	b.WriteString(text[from:])
	return b.String()
}

// nows are the offsets of the identifier now below a node.
func nows(n parse.Node) []int {
	var out []int
	branch := func(pipe *parse.PipeNode, lists ...*parse.ListNode) {
		out = append(out, nows(pipe)...)
		for _, l := range lists {
			if l != nil {
				out = append(out, nows(l)...)
			}
		}
	}
	switch n := n.(type) {
	case *parse.ListNode:
		for _, c := range n.Nodes {
			out = append(out, nows(c)...)
		}
	case *parse.ActionNode:
		branch(n.Pipe)
	case *parse.PipeNode:
		if n == nil {
			return nil
		}
		for _, c := range n.Cmds {
			for _, a := range c.Args {
				out = append(out, nows(a)...)
			}
		}
	case *parse.ChainNode:
		out = nows(n.Node)
	case *parse.IdentifierNode:
		if n.Ident == "now" {
			out = []int{int(n.Pos)}
		}
	case *parse.IfNode:
		branch(n.Pipe, n.List, n.ElseList)
	case *parse.RangeNode:
		branch(n.Pipe, n.List, n.ElseList)
	case *parse.WithNode:
		branch(n.Pipe, n.List, n.ElseList)
	case *parse.TemplateNode:
		branch(n.Pipe)
	}
	return out
}
