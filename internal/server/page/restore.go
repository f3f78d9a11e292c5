package page

import (
	"cmp"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/eggo-k8s/eggo/internal/run/event"
	"github.com/eggo-k8s/eggo/internal/server"
	"github.com/eggo-k8s/eggo/internal/server/access"
	"github.com/eggo-k8s/eggo/internal/server/manager/clusterspec"
)

// restoreForm is the page on which a backup is restored.
type restoreForm struct {
	nodesForm
	Backup string
	stock
}

// onlyNew are the fields that only new machines have.
func onlyNew() []string {
	return []string{"nodes", "lb:name", "lb:address", "lb:port", "lb:arch", "lb:bind_port", "known_hosts",
		"bundle:amd64", "bundle:arm64"}
}

// restoring is the form on which a backup is restored, onto the machines of the cluster or onto new ones.
func (p *Page) restoring() wizard {
	return wizard{may: access.Administer, show: p.restore, draft: p.restoreDraft, send: p.restoreBackup}
}

func (p *Page) restore(v *visit, s sheet, status int) error {
	name, backup := v.r.PathValue("cluster"), v.r.PathValue("backup")
	r, err := p.oneCluster(v, name)
	if err != nil {
		return err
	}
	of := v.cluster()
	list, err := p.api.ListBackups.Call(v.context(), &of)
	if err != nil {
		return err
	}
	if !slices.ContainsFunc(list.Body.Items, func(b server.Backup) bool { return b.Name == backup }) {
		return event.NewFault(event.ClassUsage, "api.no-backup", nil, "cluster", name, "name", backup)
	}
	if s.values == nil {
		s.before = balancerValues(r.Balancer)
	}
	f := restoreForm{nodesForm: formOf(r, s), Backup: backup}
	if f.stock, err = p.stock(v); err != nil {
		return err
	}
	p.render(v, status, "restore", v.p.T("page.restore"), f)
	return nil
}

// balancerValues are the fields of a load balancer.
func balancerValues(b *clusterspec.Balancer) url.Values {
	if b == nil {
		return nil
	}
	out := url.Values{"lb:name": {b.Name}, "lb:address": {b.Address}, "lb:arch": {b.Arch}}
	for name, port := range map[string][2]int{"lb:port": {b.Port, 22}, "lb:bind_port": {b.BindPort, 8443}} {
		if port[0] != 0 && port[0] != port[1] {
			out.Set(name, strconv.Itoa(port[0]))
		}
	}
	if b.Arch == "amd64" {
		out.Del("lb:arch")
	}
	return out
}

// noBalancer is what is typed as the name of no load balancer.
const noBalancer = "none"

// other is the load balancer that was typed; nil: that of the cluster stays.
func other(typed, has *clusterspec.Balancer) *clusterspec.Balancer {
	if typed.Same(has) {
		return nil
	}
	return typed
}

// readRestore reads the form: what was typed, the request that it comes to, and whether it names new machines.
func (p *Page) readRestore(v *visit) (t typed, in server.RestoreBackupInput, onto bool, r row, err error) {
	out := &in.Body
	if t, err = v.read(); err == nil {
		t = t.ownLogin()
		r, err = p.oneCluster(v, v.r.PathValue("cluster"))
	}
	if err != nil {
		return t, in, false, r, err
	}
	q := v.r.PostForm
	in.BackupPath, in.Matching = v.backup(), v.matching()
	onto = q.Get("onto") == "new"
	out.RunOptions = t.Options
	out.BackupKey = server.BackupKey{Passphrase: q.Get("passphrase"), Identity: strings.TrimSpace(q.Get("identity"))}
	if onto {
		none := t.LoadBalancer != nil && t.LoadBalancer.Name == noBalancer && t.LoadBalancer.Address == ""
		if none {
			t.LoadBalancer = nil
		}
		out.NewMachines = server.NewMachines{Nodes: listed(t.Nodes), Bundles: t.Bundles,
			KnownHosts: t.SSH.KnownHosts, Balancer: other(t.LoadBalancer, r.Balancer), Unbalanced: none}
	} else {
		t.Nodes, t.LoadBalancer, t.rejected, t.bad, t.told = nil, nil, nil, nil, nil
	}
	return t, in, onto, r, nil
}

// restoreDraft says what is wrong with what is typed, and what is to be known before the restore begins.
func (p *Page) restoreDraft(v *visit) (checkedForm, error) {
	name := v.r.PathValue("cluster")
	t, in, onto, r, err := p.readRestore(v)
	if err != nil {
		return checkedForm{}, err
	}
	body := in.Body
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
			out.Wrong = append(out.Wrong, wrong{t.fieldAt(f.Location), text, next})
		}
		out.Ask = v.p.T("page.restore.about", "cluster", name, "backup", backup, "count", strconv.Itoa(len(t.Nodes)))
		out.Notes = append(out.Notes, v.p.T("page.restore.off"))
		if again := stay(r.Nodes, t.Nodes); again > 0 {
			out.Notes = append(out.Notes, v.p.T("page.restore.again", "count", strconv.Itoa(again)))
		}
		table := nodeTable{Nodes: t.Nodes, Balancer: lb}
		if out.Nodes, err = p.piece(v.lang, "node-table", table); err != nil {
			return out, err
		}
	} else {
		out.Hide = onlyNew()
	}
	out.OK = len(out.Wrong) == 0
	out.count(v)
	return out, nil
}

// stay is how many nodes have an address of before.
func stay(was, now []clusterspec.Node) (n int) {
	for _, x := range now {
		if slices.ContainsFunc(was, func(o clusterspec.Node) bool {
			return clusterspec.SameAddress(o.Address, x.Address)
		}) {
			n++
		}
	}
	return n
}

// restoreBackup begins the restore, of the cluster that the reader was told about.
func (p *Page) restoreBackup(v *visit) (string, error) {
	t, in, _, _, err := p.readRestore(v)
	if err == nil {
		err = v.sound(t)
	}
	if err == nil {
		_, err = p.api.RestoreBackup.Call(v.context(), &in)
	}
	if err != nil {
		key := "passphrase"
		if in.Body.Identity != "" {
			key = "identity"
		}
		return "", v.refuse(t, err, map[string]string{"backup.wrong-key": key, "backup.no-key": key,
			"backup.identity": key, "backup.no-passphrase": key, "backup.version": "bundle:amd64"})
	}
	return "/clusters/" + escaped(in.Cluster), nil
}
