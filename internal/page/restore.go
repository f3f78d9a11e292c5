package page

import (
	"cmp"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/access"
	"github.com/eggo-k8s/eggo/internal/event"
	"github.com/eggo-k8s/eggo/internal/manager/profile"
	"github.com/eggo-k8s/eggo/internal/server"
)

// restoreForm is the page on which a backup is restored.
type restoreForm struct {
	nodesForm
	Backup    string
	Balancer  string
	Bundles   []server.Bundle
	BundleDir string
	Arches    []string
}

// onlyNew are the fields that only new machines have.
var onlyNew = []string{"nodes", "balancer", "known_hosts", "bundle:amd64", "bundle:arm64"}

// restore is the page on which a backup is restored, onto the machines of the cluster or onto new ones.
func (p *Page) restore(v *visit) error {
	name, backup := v.r.PathValue("cluster"), v.r.PathValue("backup")
	if _, err := access.Check(v.r.Context(), p.Access, access.Administer, name); err != nil {
		return err
	}
	r, err := p.oneCluster(v, name)
	if err != nil {
		return err
	}
	var list struct {
		Backups []server.Backup `json:"backups"`
	}
	if err := p.get(v, in(name, "/backups"), &list); err != nil {
		return err
	}
	if !slices.ContainsFunc(list.Backups, func(b server.Backup) bool { return b.Name == backup }) {
		return event.NewFault(event.ClassUsage, "api.no-backup", nil, "cluster", name, "name", backup)
	}
	f := restoreForm{formOf(r), backup, balancerLine(r.Balancer), nil, p.Bundles, []string{"amd64", "arm64"}}
	if f.Bundles, err = p.bundles(v); err != nil {
		return err
	}
	p.render(v, http.StatusOK, "restore", v.p.T("page.restore"), f)
	return nil
}

// balancerLine is a load balancer as a line: its name and address.
func balancerLine(b *profile.Balancer) string {
	if b == nil {
		return ""
	}
	return b.Name + " " + b.Address
}

// noBalancer is what is typed for no load balancer.
const noBalancer = "none"

// balancer is the load balancer that was typed; nil: that of the cluster stays, or there is none any more.
func balancer(line string, has *profile.Balancer) *profile.Balancer {
	words := append(strings.Fields(line), "", "")
	typed := strings.Join(strings.Fields(line), " ")
	if typed == "" || typed == noBalancer || typed == balancerLine(has) {
		return nil
	}
	out := &profile.Balancer{Name: words[0], Address: words[1]}
	if has != nil {
		out.BindPort = has.BindPort
	}
	return out
}

// restored is the body of a request that restores a backup.
type restored struct {
	server.RunOptions
	server.BackupKey
	server.NewMachines
}

// readRestore reads the form: what was typed, the request that it comes to, and whether it names new machines.
func (p *Page) readRestore(v *visit) (t typed, out restored, onto bool, r row, err error) {
	if t, err = v.readNodes(); err == nil {
		r, err = p.oneCluster(v, v.r.PathValue("cluster"))
	}
	if err != nil {
		return t, out, false, r, err
	}
	q := v.r.PostForm
	onto = q.Get("onto") == "new"
	out = restored{RunOptions: t.Options, BackupKey: server.BackupKey{Passphrase: q.Get("passphrase"),
		Identity: strings.TrimSpace(q.Get("identity"))}}
	if onto {
		out.NewMachines = server.NewMachines{Nodes: append([]profile.Node{}, t.Nodes...), Bundles: t.Bundles,
			KnownHosts: t.SSH.KnownHosts, Balancer: balancer(q.Get("balancer"), r.Balancer),
			Unbalanced: strings.TrimSpace(q.Get("balancer")) == noBalancer}
	} else {
		t.Nodes, t.rejected, t.told = nil, nil, nil
	}
	return t, out, onto, r, nil
}

// restoreDraft says what is wrong with what is typed, and what is to be known before the restore begins.
func (p *Page) restoreDraft(v *visit) error {
	name := v.r.PathValue("cluster")
	if _, err := access.Check(v.r.Context(), p.Access, access.Administer, name); err != nil {
		return err
	}
	t, body, onto, r, err := p.readRestore(v)
	if err != nil {
		return err
	}
	out := v.answerTo(t)
	out.ETag, out.Name, out.Sending = etagOf(r), name, v.p.T("page.restore.busy")
	backup := v.r.PathValue("backup")
	out.Ask = v.p.T("page.snapshots.restore.about", "snapshot", backup, "cluster", name)
	if (body.Passphrase == "") == (body.Identity == "") {
		text, next := v.p.FaultIn("form", event.NewFault(event.ClassUsage, "backup.no-key", nil))
		out.Wrong = append(out.Wrong, wrong{"passphrase", text, next})
	}
	if onto {
		out.Wrong = append(out.Wrong, v.wrongNodes(t, p.Rules.Update(nil, t.Nodes, ""))...)
		lb := cmp.Or(body.Balancer, r.Balancer)
		if body.Unbalanced {
			lb = nil
		}
		for _, f := range p.Rules.Balancer(lb, t.Nodes, "") {
			text, next := v.p.FaultIn("form", f.Fault)
			out.Wrong = append(out.Wrong, wrong{"balancer", text, next})
		}
		out.Ask = v.p.T("page.restore.about", "cluster", name, "backup", backup, "count", strconv.Itoa(len(t.Nodes)))
		out.Notes = append(out.Notes, v.p.T("page.restore.off"))
		if again := stay(r.Nodes, t.Nodes); again > 0 {
			out.Notes = append(out.Notes, v.p.T("page.restore.again", "count", strconv.Itoa(again)))
		}
		if out.Nodes, err = p.piece(v.lang, "node-table", nodeTable{Nodes: t.Nodes}); err != nil {
			return err
		}
	} else {
		out.Hide = onlyNew
	}
	out.OK, out.Count = len(out.Wrong) == 0, v.p.T("page.new.right")
	if !out.OK {
		out.Count = v.p.T("page.new.wrong", "count", strconv.Itoa(len(out.Wrong)))
	}
	return v.answer(out)
}

// stay is how many nodes have an address of before.
func stay(was, now []profile.Node) (n int) {
	for _, x := range now {
		if slices.ContainsFunc(was, func(o profile.Node) bool { return profile.SameAddress(o.Address, x.Address) }) {
			n++
		}
	}
	return n
}

// restoreBackup begins the restore, of the cluster that the reader was told about.
func (p *Page) restoreBackup(v *visit) error {
	t, body, _, _, err := p.readRestore(v)
	if err == nil {
		err = v.sound(t)
	}
	name := v.r.PathValue("cluster")
	if err == nil {
		err = p.call(v, http.MethodPost, in(name, "/backups/"+escaped(v.r.PathValue("backup"))+"/restore"), body, nil,
			"If-Match", v.r.PostForm.Get("etag"))
	}
	if err != nil {
		key := "passphrase"
		if body.Identity != "" {
			key = "identity"
		}
		return v.refuse(err, map[string]string{"backup.wrong-key": key, "backup.no-key": key, "backup.identity": key,
			"backup.no-passphrase": key, "backup.version": "bundle:amd64"})
	}
	return v.answer(map[string]string{"go": "/clusters/" + escaped(name)})
}

// secretsOf are the passwords of nodes that a form has, for deploy.yaml files that say that they are asked for.
func secretsOf(q url.Values) map[string]string {
	var out map[string]string
	for name := range q {
		if id, is := strings.CutPrefix(name, "secret:"); is && q.Get(name) != "" {
			if out == nil {
				out = map[string]string{}
			}
			out[id] = q.Get(name)
		}
	}
	return out
}
