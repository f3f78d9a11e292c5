package addon

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"runtime/metrics"
	"slices"
	"strings"
	"time"

	"helm.sh/helm/v4/pkg/chart/common"
	chartvalues "helm.sh/helm/v4/pkg/chart/common/util"
	"helm.sh/helm/v4/pkg/chart/loader/archive"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"
	"helm.sh/helm/v4/pkg/engine"
	release "helm.sh/helm/v4/pkg/release/v1"
	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"
	"helm.sh/helm/v4/pkg/strvals"

	"github.com/eggo-k8s/eggo/internal/bundle/kubeapi"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// RenderOptions are what helm template would be told.
type RenderOptions struct {
	Release     string   // name of the release
	Namespace   string   // "" is default
	Values      [][]byte // texts of YAML, a later one wins
	Set         []string // path=value in helm's own notation, after Values
	KubeVersion string   // such as v1.34.2
	APIVersions []string // that the cluster will have besides Kubernetes' own
	IncludeCRDs bool     // what stands in crds/
	// Scopes are kinds (group/kind) that definitions beside the chart bring, and whether they are in a namespace.
	Scopes map[string]bool
}

const (
	rounds    = 4               // renderings that must be equal; a map's order differs by chance only
	maxRender = 5 * time.Minute // for all of them
	maxHeap   = 1 << 30         // bytes by which memory may grow
	maxNamed  = 10              // names in a message
	helmName  = "v4.0.1"        // what .Capabilities.HelmVersion says on every machine
)

// Rendering is the generation of the rules by which charts are rendered: what an earlier one made of a chart is other
// text.
const Rendering = 2

// labelRE is what a release and a namespace may be called.
var labelRE = regexp.MustCompile(`\A[a-z0-9](?:[-a-z0-9]*[a-z0-9])?\z`)

// piece is a document of the result, and where in the chart it comes from.
type piece struct{ source, text string }

// Render makes a chart into one manifest, as helm template would with --include-crds and without tests and notes: the
// release's namespace unless Kubernetes has it already, definitions of crds/ by their path, then hooks of pre-install
// by weight, the objects in helm's order, hooks of post-install. Nobody runs hooks where a manifest is applied: those
// two kinds become plain objects, the others are left out, and a note names both. Objects without a namespace get the
// release's. lookup finds nothing, and no name is resolved.
//
// The chart is rendered several times, once with another clock: text that differs is a fault, as no bundle could be
// made twice. Schemas of values are checked but those that refer to other files or addresses. Rendering has bounds of
// time and memory; Go cannot stop a template that runs on, so after the fault "addon.render-limit" (or when ctx ends)
// the program should end too.
func Render(ctx context.Context, src ChartSource, o RenderOptions) ([]byte, []event.Msg, error) {
	return renderWithin(ctx, src, o, bounds{maxRender, maxHeap})
}

// bounds of a rendering: all of its rounds, and the bytes by which memory may grow.
type bounds struct {
	time time.Duration
	heap uint64
}

func renderWithin(ctx context.Context, src ChartSource, o RenderOptions, most bounds) ([]byte, []event.Msg, error) {
	switch ns := o.namespace(); {
	case len(o.Release) > 53 || !labelRE.MatchString(o.Release): // helm's own limit
		return nil, nil, fault("addon.chart-names", nil, "addon", src.Name, "name", o.Release)
	case len(ns) > 63 || !labelRE.MatchString(ns):
		return nil, nil, fault("addon.chart-names", nil, "addon", src.Name, "name", ns)
	}
	list, err := read(ctx, src)
	if err != nil {
		return nil, nil, err
	}
	inner, cancel := context.WithTimeout(ctx, most.time)
	defer cancel()
	type result struct {
		text  []byte
		notes []event.Msg
		err   error
	}
	done := make(chan result, 1)
	before := heap()
	go func() {
		var r result
		defer func() {
			if x := recover(); x != nil {
				r.err = fault("addon.render", fmt.Errorf("helm: %v", x), "addon", src.Name)
			}
			done <- r
		}()
		r.text, r.notes, r.err = render(inner, src.Name, list, o)
	}()
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	limit := func(err error) error {
		return fault("addon.render-limit", err, "addon", src.Name, "time", most.time.String(), "memory",
			mib(int64(most.heap)))
	}
	ended := func() error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		return limit(inner.Err())
	}
	for {
		select {
		case r := <-done:
			if over := inner.Err(); over == nil || !errors.Is(r.err, over) {
				return r.text, r.notes, r.err
			}
			return nil, nil, ended() // a round saw it first
		case <-inner.Done():
			return nil, nil, ended()
		case <-tick.C:
			if heap() > before+most.heap {
				return nil, nil, limit(nil)
			}
		}
	}
}

// heap is the memory that live and not yet collected objects take, in bytes.
func heap() uint64 {
	s := []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}}
	metrics.Read(s)
	if s[0].Value.Kind() != metrics.KindUint64 {
		return 0
	}
	return s[0].Value.Uint64()
}

// render makes the rounds and compares them.
func render(ctx context.Context, name string, list []*archive.BufferedFile, o RenderOptions) ([]byte, []event.Msg,
	error) {
	first, notes, err := once(name, list, o, false)
	if err != nil {
		return nil, nil, err
	}
	differ := map[string]bool{}
	for i := 1; i < rounds; i++ {
		if err := ctx.Err(); err != nil {
			return nil, nil, err
		}
		again, _, err := once(name, list, o, i == 1)
		if err != nil && i == 1 {
			continue // a chart may have reasons to refuse the past
		}
		if err != nil {
			return nil, nil, err
		}
		compare(first, again, differ)
	}
	if len(differ) > 0 {
		return nil, nil, fault("addon.not-deterministic", nil, "addon", name, "templates", several(differ))
	}
	var b bytes.Buffer
	for _, p := range first {
		fmt.Fprintf(&b, "---\n# Source: %s\n%s\n", p.source, strings.TrimRight(p.text, "\n"))
	}
	switch {
	case b.Len() == 0:
		return nil, nil, fault("addon.render-empty", nil, "addon", name)
	case b.Len() > maxManifest:
		return nil, nil, fault("addon.too-large", nil, "addon", name, "limit", mib(maxManifest))
	}
	return b.Bytes(), notes, nil
}

// compare notes the templates whose text differs.
func compare(a, b []piece, differ map[string]bool) {
	for i := range max(len(a), len(b)) {
		switch {
		case i >= len(a):
			differ[b[i].source] = true
		case i >= len(b):
			differ[a[i].source] = true
		case a[i] != b[i]:
			differ[a[i].source] = true
		}
	}
}

func several(set map[string]bool) string {
	var names []string
	for n := range set {
		names = append(names, n)
	}
	slices.Sort(names)
	return shown(names)
}

// shown are some names for a message.
func shown(names []string) string {
	if len(names) > maxNamed {
		names = append(slices.Clone(names[:maxNamed]), "…")
	}
	return strings.Join(names, ", ")
}

// once renders the chart, each time from its files: helm changes what it is given.
func once(name string, list []*archive.BufferedFile, o RenderOptions, moved bool) ([]piece, []event.Msg, error) {
	c, err := load(name, list)
	if err != nil {
		return nil, nil, err
	}
	if strings.EqualFold(c.Metadata.Type, "library") {
		return nil, nil, fault("addon.chart-library", nil, "addon", name)
	}
	values, err := o.merge(name)
	if err != nil {
		return nil, nil, err
	}
	if err := chartutil.ProcessDependencies(c, values); err != nil {
		return nil, nil, fault("addon.chart-values", err, "addon", name)
	}
	if lost := missing(c); len(lost) > 0 {
		return nil, nil, fault("addon.chart-dependency", nil, "addon", name, "missing", shown(lost))
	}
	caps, err := o.capabilities(name)
	if err != nil {
		return nil, nil, err
	}
	if want := c.Metadata.KubeVersion; want != "" && !chartutil.IsCompatibleRange(want, caps.KubeVersion.String()) {
		return nil, nil, fault("addon.chart-kubernetes", nil, "addon", name, "want", want, "version",
			caps.KubeVersion.String())
	}
	top, err := chartvalues.ToRenderValuesWithSchemaValidation(c, values, common.ReleaseOptions{
		Name: o.Release, Namespace: o.namespace(), Revision: 1, IsInstall: true}, caps, true)
	if err != nil {
		return nil, nil, fault("addon.chart-values", err, "addon", name)
	}
	all, _ := top["Values"].(common.Values)
	remote, problems := validate(c, all)
	if len(problems) > 0 {
		return nil, nil, fault("addon.chart-schema", nil, "addon", name, "problems",
			event.Clean(strings.Join(problems, "\n")))
	}
	if moved {
		moveClock(c)
	}
	files, err := engine.Engine{}.Render(c, top)
	if err != nil {
		return nil, nil, fault("addon.render", err, "addon", name)
	}
	var notes []event.Msg
	if c.Metadata.Deprecated {
		notes = append(notes, event.M("addon.note.deprecated", "addon", name))
	}
	if len(remote) > 0 {
		notes = append(notes, event.M("addon.note.schema", "addon", name, "charts", shown(remote)))
	}
	var crds []piece
	if o.IncludeCRDs {
		for _, d := range c.CRDObjects() {
			crds = append(crds, piece{d.Filename, strings.TrimPrefix(string(d.File.Data), "---\n")})
		}
		slices.SortStableFunc(crds, func(a, b piece) int { return strings.Compare(a.source, b.source) })
	}
	pieces, more, err := arrange(name, o, crds, files)
	return pieces, append(notes, more...), err
}

func (o RenderOptions) namespace() string {
	if o.Namespace == "" {
		return "default"
	}
	return o.Namespace
}

// merge puts the values together as helm does with several --values and --set.
func (o RenderOptions) merge(name string) (map[string]any, error) {
	out := map[string]any{}
	for _, text := range o.Values {
		v, err := common.ReadValues(text)
		if err != nil {
			return nil, fault("addon.chart-values", err, "addon", name)
		}
		overlay(out, v)
	}
	for _, set := range o.Set {
		if err := strvals.ParseInto(set, out); err != nil {
			return nil, fault("addon.chart-values", err, "addon", name)
		}
	}
	return out, nil
}

// overlay puts b over a; null stays, as it takes a chart's own value away.
func overlay(a, b map[string]any) {
	for k, v := range b {
		under, ok := a[k].(map[string]any)
		over, too := v.(map[string]any)
		if ok && too {
			overlay(under, over)
			continue
		}
		a[k] = v
	}
}

func (o RenderOptions) capabilities(name string) (*common.Capabilities, error) {
	v, err := common.ParseKubeVersion(o.KubeVersion)
	if err != nil {
		return nil, fault("addon.kubernetes-version", err, "addon", name, "version", o.KubeVersion)
	}
	caps := common.DefaultCapabilities.Copy()
	caps.KubeVersion = *v
	// Helm's own list is that of the Kubernetes that it was built with, and with what its library keeps for old
	// clients.
	caps.APIVersions = append(kubeapi.Load().Served(kubeapi.Minor(v.Version)), o.APIVersions...)
	caps.HelmVersion.Version, caps.HelmVersion.GoVersion = helmName, "" // not those of the machine that builds
	return caps, nil
}

// arrange sorts the rendered files into the documents of the manifest.
func arrange(name string, o RenderOptions, crds []piece, files map[string]string) ([]piece, []event.Msg, error) {
	size := 0
	for file, text := range files {
		if size += len(text); size > maxManifest {
			return nil, nil, fault("addon.too-large", nil, "addon", name, "limit", mib(maxManifest))
		}
		if strings.HasSuffix(file, "NOTES.txt") {
			delete(files, file)
		}
	}
	hooks, objects, err := releaseutil.SortManifests(files, nil, releaseutil.InstallOrder)
	if err != nil {
		return nil, nil, fault("addon.render", err, "addon", name)
	}
	slices.SortStableFunc(hooks, func(a, b *release.Hook) int {
		if a.Weight != b.Weight {
			return a.Weight - b.Weight
		}
		return strings.Compare(a.Name, b.Name)
	})
	var before, middle, after []piece
	var early, late, dropped []string
	for _, h := range hooks {
		p, label := piece{h.Path, h.Manifest}, h.Kind+" "+h.Name
		switch {
		case slices.Contains(h.Events, release.HookPreInstall):
			before, early = append(before, p), append(early, label)
		case slices.Contains(h.Events, release.HookPostInstall):
			after, late = append(after, p), append(late, label)
		case !slices.Contains(h.Events, release.HookTest):
			dropped = append(dropped, label)
		}
	}
	for _, m := range objects {
		middle = append(middle, piece{m.Name, m.Content})
	}
	pieces, unknown, err := o.settle(crds, slices.Concat(before, middle, after))
	if err != nil {
		return nil, nil, explain(name, nil, err)
	}
	var notes []event.Msg
	if plain := slices.Concat(early, late); len(plain) > 0 {
		notes = append(notes, event.M("addon.note.hooks", "addon", name, "hooks", shown(plain)))
	}
	if len(dropped) > 0 {
		notes = append(notes, event.M("addon.note.hooks-dropped", "addon", name, "hooks", shown(dropped)))
	}
	if len(unknown) > 0 {
		notes = append(notes, event.M("addon.note.no-namespace", "addon", name, "namespace", o.namespace(), "objects",
			shown(unknown)))
	}
	return pieces, notes, nil
}

// settle puts the namespace before everything and into what lacks one. unknown are objects of which nobody can say
// whether they do.
func (o RenderOptions) settle(crds, objects []piece) (pieces []piece, unknown []string, err error) {
	s := &scopes{api: kubeapi.Load(), custom: map[string]bool{}}
	maps.Copy(s.custom, o.Scopes)
	own, namespace := false, o.namespace()
	var rest []piece
	for i, p := range slices.Concat(crds, objects) {
		roots, err := documents([]byte(p.text))
		if err != nil {
			return nil, nil, fmt.Errorf("%s: %w", p.source, err)
		}
		empty := true
		for _, r := range roots {
			if r == nil {
				continue
			}
			empty = false
			if err := s.learn(r); err != nil {
				return nil, nil, err
			}
			is, err := isNamespace(r, namespace)
			if err != nil {
				return nil, nil, err
			}
			own = own || is
		}
		switch {
		case empty: // comments only
		case i < len(crds):
			pieces = append(pieces, p)
		default:
			rest = append(rest, p)
		}
	}
	if namespace == "default" {
		return append(pieces, rest...), nil, nil
	}
	for i, p := range rest {
		roots, err := documents([]byte(p.text))
		if err != nil {
			return nil, nil, err
		}
		if rest[i].text, err = s.fill(p.text, roots, namespace); err != nil {
			return nil, nil, err
		}
	}
	if pieces = append(pieces, rest...); !own && !given(namespace) && len(pieces) > 0 {
		pieces = append([]piece{{"(namespace of the release)",
			"apiVersion: v1\nkind: Namespace\nmetadata:\n  name: " + word(namespace)}}, pieces...)
	}
	return pieces, s.unknown, nil
}
