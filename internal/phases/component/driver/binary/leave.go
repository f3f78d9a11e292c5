package binary

import (
	"context"
	"path"
	"slices"
	"strings"

	"github.com/eggo-k8s/eggo/internal/config"
	"github.com/eggo-k8s/eggo/internal/phases/component/driver"
	"github.com/eggo-k8s/eggo/internal/phases/node"
	"github.com/eggo-k8s/eggo/internal/phases/node/layout"
	"github.com/eggo-k8s/eggo/internal/remote/shell"
	"github.com/eggo-k8s/eggo/internal/run/engine"
	"github.com/eggo-k8s/eggo/internal/run/event"
)

// RemoveDNS implements driver.Driver. A program that the bundle brings is a plain file from now on, as where no service
// executes it; one that the bundle does not bring goes. A package stays until the node is cleaned up.
func (r *Binary) RemoveDNS(ctx context.Context, n config.Node, nd *node.Node) error {
	recs, err := nd.Records(ctx)
	if err != nil {
		return err
	}
	u := unit(driver.CoreDNS)
	program := r.Program(n, string(driver.CoreDNS))
	var versions, files []string
	ours := false
	for _, x := range recs {
		binary := x.Kind == "file" && path.Base(x.Key) == string(driver.CoreDNS)
		switch {
		case x.Kind == "unit" && x.Key == u:
			ours = true
		case binary && node.VersionOf(x.Key) != "":
			versions = append(versions, x.Key)
		case binary && x.Key != program,
			x.Kind == "file" && slices.Contains([]string{corefile, corednsConf, layout.UnitDir + u}, x.Key):
			files = append(files, x.Key)
		}
	}
	if !ours && len(versions)+len(files) == 0 {
		return engine.ErrUnchanged
	}
	q := shell.Quote(u)
	var b strings.Builder
	b.WriteString("keep() { printf 'kept %s\\n' \"$1\"; }\n")
	if ours {
		b.WriteString("systemctl disable --now " + q + " 2>/dev/null || systemctl stop " + q + " 2>/dev/null || true\n")
	}
	if program != "" && len(versions) > 0 {
		k := shell.Quote(program)
		b.WriteString("if [ -L " + k + " ] && [ -f " + k + " ]; then cp -p \"$(realpath " + k + ")\" " + k +
			".eggo-new; mv -fT " + k + ".eggo-new " + k + "; fi\n")
	}
	for _, f := range files {
		k := shell.Quote(f)
		b.WriteString("unfile " + k + "\nunrec file " + k + "\nunrec via " + k + "\n")
	}
	dir := shell.Quote(path.Dir(corefile))
	b.WriteString("if [ ! -d " + dir + " ] || rmdir " + dir + " 2>/dev/null; then unrec dir " + dir + "; fi\n" +
		"rm -f $D/applied/" + q + " $D/applied/" + q + ".files\nsystemctl daemon-reload\nunrec unit " + q + "\n")
	if _, err := nd.Change(ctx, node.Change{Desc: event.M("change.dns-stop", "unit", u),
		Script: b.String()}); err != nil {
		return err
	}
	return nd.Retire(ctx, versions, nil)
}
